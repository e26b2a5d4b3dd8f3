import { type Answer, findAnswerTime, findRequestState } from '../../notifications/answers/answer.ts';
import type { Notification } from '../../notifications/notification.entity.ts';
import { type Html, html } from '../../pages/html.ts';
import { renderMarkdown } from '../../pages/markdown.ts';
import type { PlainPage } from '../../pages/plain-page.ts';
import type { Time } from '../../values/time.ts';
import { fieldsOf, listPrompts, listValues, type Prompt } from './answer-form.ts';
import type { Texts } from './answer-texts.ts';

/** An incomplete form that was sent, and which of its prompts are incomplete. */
export type Sent = { form: URLSearchParams; isIncomplete: (prompt: number) => boolean };

/** Renders the request, and the form that answers it. Nothing is chosen that was not sent. */
export function renderForm(texts: Texts, notification: Notification, sent?: Sent): PlainPage {
  const { title } = notification;
  const content = html`
    <h1>${title}</h1>
    <p>${texts('asks')}</p>
    ${sent && html`<p role="alert">${texts('incomplete_text')}</p>`}
    ${renderFacts(listFacts(texts, notification))}
    ${renderContent(texts, notification)}
    <form method="post">
      ${listPrompts(texts, notification).map((prompt, index) => renderPrompt(texts, prompt, index, sent))}
      <p class="note">${texts('anybody')}</p>
      <button>${texts('send')}</button>
    </form>`;
  return { status: sent ? 422 : 200, title, content };
}

/** Renders how a request was settled. `isStored` is whether what was sent is the answer; undefined if nothing was sent. */
export function renderSettled(texts: Texts, notification: Notification, isStored?: boolean): PlainPage {
  const { answer, title } = notification;
  const state = texts(`state_${findRequestState(notification)}`);
  const heading = isStored === undefined ? state : texts(isStored ? 'stored' : 'settled');
  const at = answer && findAnswerTime(answer, notification);
  const given = [answer?.by, answer && texts(`via_${answer.via}`)].filter(Boolean).join(', ');
  const content = html`
    <h1>${heading}</h1>
    ${isStored === false && html`<p role="alert">${texts('unstored')}</p><p>${state}.</p>`}
    <h2>${title}</h2>
    ${answer ? renderAnswer(texts, answer) : html`<p>${texts('undecided')}</p>`}
    ${
      at &&
      renderFacts([
        [texts('given'), given],
        [texts('at'), renderTime(texts, at)],
      ])
    }`;
  return { status: isStored === false ? 409 : 200, title: heading, content };
}

const renderFacts = (facts: readonly (readonly [name: string, value: Html | string])[]): Html =>
  html`<dl>${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** Lists who asks, until when, and what happens without an answer. */
function listFacts(texts: Texts, notification: Notification) {
  const { taskName, taskId, projectName, projectId, expiresAt, onExpiry } = notification;
  const without = texts(expiresAt === null ? 'waits' : 'expires');
  return [
    [texts('task'), taskName ?? taskId],
    [texts('project'), projectName ?? projectId],
    [texts('until'), expiresAt === null ? '–' : renderTime(texts, expiresAt)],
    [texts('without'), onExpiry ? html`${renderAnswer(texts, onExpiry)}(${texts('via_default')})` : without],
  ] as const;
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
