import { renderHtml } from './page.ts';

const style = `
      :root { --text: #1f2933; --background: #fff; --link: #0b5cad; }
      @media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --background: #14181d; --link: #7cb8f5; } }
      body { margin: 10vh auto; max-width: 36rem; padding: 0 1.5rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--text); background: var(--background); }
      h1 { font-size: 1.5rem; }
      dt { margin-top: 1rem; font-weight: 600; }
      dd { margin: 0; }
      a { color: var(--link); }
      button { padding: 0.5rem 1rem; border: 0; border-radius: 0.25rem; font: inherit; color: #fff; background: #0b5cad; cursor: pointer; }`;

/** Renders a page of text, without scripts. `content` is HTML. */
export function renderTextPage(title: string, content: string): string {
  return renderHtml({
    title,
    icon: 'data:,',
    style: `<style>${style}
    </style>`,
    scripts: [],
    body: `  <body>
    ${content}
  </body>`,
  });
}
