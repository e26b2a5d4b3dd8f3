import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Answer, findAnswerTime, findRequestState } from '../../notifications/answers/answer.ts';
import type { Notification } from '../../notifications/notification.entity.ts';
import { Html, html } from '../../pages/html.ts';
import { renderMarkdown } from '../../pages/markdown.ts';
import type { Time } from '../../values/time.ts';
import { fieldsOf, listPrompts, listValues, type Prompt } from './answer-form.ts';
import type { Texts } from './answer-texts.ts';

/** A page: its status, title and content. */
export type AnswerPage = { status: number; title: string; content: Html };

/** Renders a page that says one thing. */
export const renderNotice = (status: number, title: string, text: string): AnswerPage => ({
  status,
  title,
  content: html`<h1>${title}</h1><p>${text}</p>`,
});

/** An incomplete form that was sent, and which of its prompts are incomplete. */
export type Sent = { form: URLSearchParams; isIncomplete: (prompt: number) => boolean };

/** Renders the request, and the form that answers it. Nothing is chosen that was not sent. */
export function renderForm(texts: Texts, notification: Notification, sent?: Sent): AnswerPage {
  const { title, kind } = notification;
  const content = html`
    <h1>${title}</h1>
    <p>${texts(`asks_${kind}`)}</p>
    ${sent && html`<p role="alert">${texts('incomplete')}</p>`}
    ${renderFacts(texts, notification)}
    ${renderContent(texts, notification)}
    <form method="post">
      ${listPrompts(texts, notification).map((prompt, index) => renderPrompt(texts, prompt, index, sent))}
      <p class="note">${texts('anybody')}</p>
      <button>${texts('send')}</button>
    </form>`;
  return { status: sent ? 422 : 200, title, content };
}

/** Renders how a request was settled. `isStored` is whether what was sent is the answer; undefined if nothing was sent. */
export function renderSettled(texts: Texts, notification: Notification, isStored?: boolean): AnswerPage {
  const { answer, title } = notification;
  const state = texts(`state_${findRequestState(notification)}`);
  const heading = isStored === undefined ? state : texts(isStored ? 'stored' : 'settled');
  const at = answer && findAnswerTime(answer, notification);
  const content = html`
    <h1>${heading}</h1>
    ${isStored === false && html`<p role="alert">${texts('unstored')}</p><p>${state}.</p>`}
    <h2>${title}</h2>
    ${
      answer
        ? html`${renderAnswer(texts, answer)}
    <dl>${renderFact(texts('given'), [answer.by, texts(`via_${answer.via}`)].filter(Boolean).join(', '))}
    ${at && renderFact(texts('at'), renderTime(texts, at))}</dl>`
        : html`<p>${texts('undecided')}</p>`
    }`;
  return { status: isStored === false ? 409 : 200, title: heading, content };
}

const renderFact = (name: string, value: Html | string): Html =>
  html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

/** Renders who asks, until when, and what happens without an answer. */
function renderFacts(texts: Texts, notification: Notification): Html {
  const { taskName, taskId, projectName, projectId, expiresAt, onExpiry } = notification;
  const without = texts(expiresAt === null ? 'waits' : 'expires');
  return html`<dl>
    ${renderFact(texts('task'), taskName ?? taskId)}
    ${renderFact(texts('project'), projectName ?? projectId)}
    ${renderFact(texts('until'), expiresAt === null ? texts('forever') : renderTime(texts, expiresAt))}
    ${renderFact(texts('without'), onExpiry ? html`${renderAnswer(texts, onExpiry)}(${texts('via_default')})` : without)}
  </dl>`;
}

function renderTime(texts: Texts, time: Time): Html {
  const format = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const;
  return html`<time datetime="${time}">${new Date(time).toLocaleString(texts('language'), format)} UTC</time>`;
}

function renderAnswer(texts: Texts, answer: Answer): Html {
  if ('plan' in answer) {
    const { decision, feedback } = answer.plan;
    return html`<p><strong>${texts(decision)}</strong></p>${feedback && html`<pre>${feedback}</pre>`}`;
  }
  if ('reply' in answer) return html`<pre>${answer.reply.text}</pre>`;
  return html`${answer.questions.map(
    ({ question, labels, other }) => html`<p>${question}</p>
      <ul>${[...labels, ...(other === null ? [] : [other])].map((text) => html`<li class="text"><strong>${text}</strong></li>`)}</ul>`,
  )}`;
}

/** Renders everything that the task sent besides questions. What is Markdown is also shown as it was sent. */
function renderContent(texts: Texts, notification: Notification): Html {
  const values = listValues(notification);
  const plain = (text: string) => html`<pre>${text}</pre>`;
  const markdown = (text: string) =>
    html`<div class="text">${renderMarkdown(text, !notification.byTask)}</div>`;
  const sections = (render: typeof plain) =>
    values.map(
      ({ name, text, isMarkdown }) => html`<h2>${name}</h2>${isMarkdown ? render(text) : plain(text)}`,
    );
  return html`${sections(markdown)}
    ${values.length > 0 && html`<details><summary>${texts('input')}</summary>${sections(plain)}</details>`}`;
}

/** Of radio buttons, browsers require one of the group. A text without choices is required too. */
function renderPrompt(
  texts: Texts,
  { legend, choices, isMultiple, textLabel }: Prompt,
  index: number,
  sent?: Sent,
): Html {
  const { choice, text } = fieldsOf(index);
  const isMarked = sent?.isIncomplete(index);
  const chosen = sent?.form.getAll(choice);
  const kind = isMultiple ? html`type="checkbox"` : html`type="radio" required`;
  return html`
  <fieldset class="${isMarked && 'marked'}">
    <legend class="text">${isMarked && html`<strong>${texts('marked')}</strong> `}${legend}</legend>
    ${choices.length > 0 && html`<p class="note">${texts(isMultiple ? 'some' : 'one')}</p>`}
    ${choices.map(
      ({ label, description, preview }, value) => html`
    <label class="choice"><input ${kind} name="${choice}" value="${value}"${chosen?.includes(String(value)) && html` checked`}>
      <span class="text">${label}${description && html`<br><small>${description}</small>`}</span></label>
    ${preview && html`<pre>${preview}</pre>`}`,
    )}
    <label class="field">${textLabel}
      <textarea name="${text}" rows="4"${choices.length === 0 && html` required`}>\n${sent?.form.get(text)}</textarea></label>
  </fieldset>`;
}

const style = `
  :root { color-scheme: light dark; --text: #1f2933; --muted: #52606d; --background: #fff; --box: #f1f4f7; --line: #7b8794; --button: #0b5cad; --alert: #a61b1b; }
  @media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --muted: #aeb8c2; --background: #14181d; --box: #1f252c; --line: #8794a1; --button: #1f6fbf; --alert: #ff9b9b; } }
  * { box-sizing: border-box; } body { margin: 0 auto; max-width: 44rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; color: var(--text); background: var(--background); }
  h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.125rem; margin: 1.5rem 0 0.5rem; } .text :is(h1, h2, h3, h4, h5, h6) { font-size: 1rem; margin: 1rem 0 0.25rem; } p, ul, ol, dl { margin: 0.5rem 0; } ul, ol { padding-left: 1.5rem; }
  dl > div { display: flex; flex-wrap: wrap; gap: 0 0.75rem; margin-bottom: 0.25rem; } dt { color: var(--muted); min-width: 9.5rem; } dd { margin: 0; flex: 1 1 12rem; } dd > p { margin: 0; }
  pre, blockquote { margin: 0.5rem 0; padding: 0.5rem 0.75rem; background: var(--box); border-radius: 0.25rem; } pre { white-space: pre-wrap; } pre, code { font: 0.875rem/1.5 ui-monospace, monospace; } blockquote { border-left: 3px solid var(--line); }
  table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: 0.25rem 0.5rem; text-align: left; }
  fieldset { margin: 1.5rem 0; padding: 0.75rem; border: 1px solid var(--line); border-radius: 0.375rem; min-width: 0; } legend { padding: 0 0.25rem; font-weight: 600; white-space: pre-wrap; } .note, small { color: var(--muted); font-size: 0.875rem; }
  .marked { border: 2px solid var(--alert); } [role="alert"], .marked > legend > strong { color: var(--alert); font-weight: 600; } .choice { display: flex; gap: 0.5rem; padding: 0.375rem 0; align-items: baseline; } .choice > span { flex: 1; min-width: 0; }
  .field { display: block; margin-top: 0.75rem; } textarea { display: block; width: 100%; margin-top: 0.25rem; padding: 0.5rem; font: inherit; color: inherit; background: var(--background); border: 1px solid var(--line); border-radius: 0.25rem; }
  button { padding: 0.625rem 1.25rem; border: 0; border-radius: 0.25rem; font: inherit; font-weight: 600; color: #fff; background: var(--button); cursor: pointer; } a { color: inherit; } summary { cursor: pointer; } :focus-visible { outline: 3px solid var(--button); outline-offset: 2px; }
`;

/**
 * The page runs no script, loads nothing, and can neither be framed nor send its form elsewhere. Its address is a secret, which
 * no other site receives; with `no-referrer`, browsers would not say where a form comes from.
 */
const headers = {
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  'Referrer-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex, nofollow, noarchive',
  'Cache-Control': 'no-store',
  'Content-Type': 'text/html; charset=utf-8',
};

const styleElement = new Html(`<style>${style}</style>`);

/** Sends a page. `appUrl` is where the user can answer instead. */
export function sendAnswerPage(
  response: ServerResponse,
  texts: Texts,
  { status, title, content }: AnswerPage,
  appUrl: string | null,
): void {
  const page = html`<!doctype html>
<html lang="${texts('language')}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>${title}</title>
    ${styleElement}
  </head>
  <body>
    <main>${content}
    ${appUrl !== null && html`<p><a href="${appUrl}" rel="noreferrer">${texts('open')}</a></p>`}</main>
  </body>
</html>
`.text;
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(page) });
  response.end(page);
}
