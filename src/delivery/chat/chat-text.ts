import { type Answer, findRequestState } from '../../notifications/answers/answer.ts';
import type { Notification } from '../../notifications/notification.entity.ts';
import { showHidden, truncate } from '../../values/text.ts';
import { textsIn } from '../answers/answer-texts.ts';
import { breakLinks, type Message } from '../message.ts';

/**
 * Maximum lengths in UTF-16 code units, before escaping, which makes a character at most five times as long. Slack
 * truncates messages at 40,000 characters and recommends at most 4,000.
 */
const MAX_CHARACTERS = { title: 500, request: 500, details: 2000, name: 255, url: 2048 };

/** Formats a message in Slack's mrkdwn. */
export function formatMessage(message: Message): string {
  const { title, request, details } = message;
  return join('\n\n', [
    join('\n', [formatTitle(title), formatLine(request, MAX_CHARACTERS.request)]),
    escapeText(truncate(details?.trim() ?? '', MAX_CHARACTERS.details)),
    join('\n', [formatTask(message), formatLink(message.url, 'Open')]),
  ]);
}

/** Formats a message whose notification is settled. `request` is its request, if it has one. */
export function formatSettledMessage(message: Message, request?: Notification): string {
  return join('\n\n', [
    join('\n', [formatTitle(message.title), escapeText(describeSettled(request))]),
    join('\n', [formatTask(message), formatLink(message.url, 'Open')]),
  ]);
}

const texts = textsIn('en');

/**
 * Describes how a request was settled: the answer, who gave it and where, or that there is none. Labels of a task token have
 * their links broken up, as in all messages.
 */
export function describeSettled(request?: Notification): string {
  const state = request && findRequestState(request);
  if (state === undefined || state === 'open') return 'Done: this no longer needs your attention.';
  if (!request?.answer) return `${texts(`state_${state}`)}. ${texts('undecided')}`;
  const { by, via } = request.answer;
  const answer = describeAnswer(request.answer, request.byTask ? breakLinks : (label) => label);
  const given = truncate(showHidden(answer), MAX_CHARACTERS.request);
  return `${texts('state_answered')}: ${given} (${join(', ', [by ?? '', texts(`via_${via}`)])})`;
}

function describeAnswer(answer: Answer, show: (label: string) => string): string {
  if ('reply' in answer) return answer.reply.text;
  if ('plan' in answer) return join(': ', [texts(answer.plan.decision), answer.plan.feedback ?? '']);
  return join(
    '; ',
    answer.questions.map(({ labels, other }) => join(', ', [...labels.map(show), other ?? ''])),
  );
}

function formatTitle(title: string): string {
  const line = formatLine(title, MAX_CHARACTERS.title);
  return line && `*${line}*`;
}

function formatTask({ task, project }: Message): string {
  return join(
    ' · ',
    [task, project].map((name) => formatLine(name, MAX_CHARACTERS.name)),
  );
}

/** Slack ends the URL of a link at `|` or `>`. A URL that is too long would be broken if it were cut. */
function formatLink(url: string | null, label: string): string {
  if (url === null || url.length > MAX_CHARACTERS.url) return '';
  return `<${escapeControls(url.replace(/[|<>\s]/g, encodeURIComponent))}|${label}>`;
}

function formatLine(text: string, max: number): string {
  return escapeText(truncate(text, max));
}

/** Slack documents no escape for its formatting characters, so those that it would interpret are replaced. */
const LOOKALIKES: Readonly<Record<string, string>> = { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' };

/** Between two letters or digits, as in `snake_case`, Slack does not interpret a formatting character. */
const FORMATTING = /(?<![\p{L}\p{N}])[*_~`]|[*_~`](?![\p{L}\p{N}])/gu;

function escapeText(text: string): string {
  return escapeControls(text.replace(FORMATTING, (mark) => LOOKALIKES[mark] ?? mark));
}

/** Escapes the characters that begin links and mentions. */
export function escapeControls(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function join(separator: string, parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(separator);
}
