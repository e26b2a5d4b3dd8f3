import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Html, html } from './html.ts';

/** A page without scripts, for the links in mails. */
export type PlainPage = { status: number; title: string; content: Html };

const style = `
  :root { color-scheme: light dark; --text: #1f2933; --muted: #52606d; --background: #fff; --box: #f1f4f7; --line: #7b8794; --button: #0b5cad; --alert: #a61b1b; }
  @media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --muted: #aeb8c2; --background: #14181d; --box: #1f252c; --line: #8794a1; --button: #1f6fbf; --alert: #ff9b9b; } }
  * { box-sizing: border-box; } body { margin: 0 auto; max-width: 44rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; color: var(--text); background: var(--background); }
  h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.125rem; margin: 1.5rem 0 0.5rem; } .text :is(h1, h2, h3, h4, h5, h6) { font-size: 1rem; margin: 1rem 0 0.25rem; } p, ul, ol, dl { margin: 0.5rem 0; } ul, ol { padding-left: 1.5rem; }
  dl > div { display: flex; flex-wrap: wrap; gap: 0 0.75rem; margin-bottom: 0.25rem; } dt { color: var(--muted); min-width: 9.5rem; } dd { margin: 0; flex: 1 1 12rem; } dd > p { margin: 0; }
  pre, blockquote { margin: 0.5rem 0; padding: 0.5rem 0.75rem; background: var(--box); border-radius: 0.25rem; } pre { white-space: pre-wrap; } pre, code { font: 0.875rem/1.5 ui-monospace, monospace; } blockquote { border-left: 3px solid var(--line); }  table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: 0.25rem 0.5rem; text-align: left; }
  fieldset { margin: 1.5rem 0; padding: 0.75rem; border: 1px solid var(--line); border-radius: 0.375rem; min-width: 0; } legend { padding: 0 0.25rem; font-weight: 600; white-space: pre-wrap; } .note, small { color: var(--muted); font-size: 0.875rem; } .marked { border: 2px solid var(--alert); } [role="alert"], .marked > legend > strong { color: var(--alert); font-weight: 600; } .choice { display: flex; gap: 0.5rem; padding: 0.375rem 0; align-items: baseline; } .choice > span { flex: 1; min-width: 0; }
  .field { display: block; margin-top: 0.75rem; } textarea { display: block; width: 100%; margin-top: 0.25rem; padding: 0.5rem; font: inherit; color: inherit; background: var(--background); border: 1px solid var(--line); border-radius: 0.25rem; } button { padding: 0.625rem 1.25rem; border: 0; border-radius: 0.25rem; font: inherit; font-weight: 600; color: #fff; background: var(--button); cursor: pointer; } a { color: inherit; } summary { cursor: pointer; } :focus-visible { outline: 3px solid var(--button); outline-offset: 2px; }
`;

const headers = {
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  // No other site receives the address, which is a secret. With `no-referrer`, forms would be sent with `Origin: null`.
  'Referrer-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
  'Cache-Control': 'no-store',
  'Content-Type': 'text/html; charset=utf-8',
};

/** Sends a page, which loads nothing, and can neither be framed nor send its form elsewhere. */
export function sendPlainPage(
  response: ServerResponse,
  language: string,
  { status, title, content }: PlainPage,
): void {
  const page = html`<!doctype html>
<html lang="${language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>${title}</title>
    ${new Html(`<style>${style}</style>`)}
  </head>
  <body>
    <main>${content}</main>
  </body>
</html>
`;
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(page.text) }).end(page.text);
}
