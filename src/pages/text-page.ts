import { renderHtml } from './page.ts';

const head = `<link rel="icon" href="data:,">
    <style>
      :root { --text: #1f2933; --background: #fff; }
      @media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --background: #14181d; } }
      body { margin: 10vh auto; max-width: 36rem; padding: 0 1.5rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--text); background: var(--background); }
      h1 { font-size: 1.5rem; }
      button { padding: 0.5rem 1rem; border: 0; border-radius: 0.25rem; font: inherit; color: #fff; background: #0b5cad; cursor: pointer; }
    </style>`;

/** Renders a page of text, without scripts. `content` is HTML. */
export function renderTextPage(title: string, content: string): string {
  return renderHtml(title, head, content);
}
