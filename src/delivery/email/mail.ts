import type { SendMailOptions } from 'nodemailer';
import type { Mailbox } from '../../config/delivery-formats.ts';
import type { NotificationKind } from '../../notifications/notification.enums.ts';
import { escapeHtml } from '../../pages/html.ts';
import { hashMessageKey, type Message, type MessageQuestion } from '../message.ts';
import { toUnsubscribeUrl, type UnsubscribeTokens } from './unsubscribe-token.ts';

/** What all emails of a gateway have in common. */
export type MailSettings = {
  from: Mailbox;
  /**
   * The URL of the gateway without a trailing slash. `null` if not configured; emails then have no unsubscribe link.
   */
  publicUrl: string | null;
  tokens: Pick<UnsubscribeTokens, 'sign'>;
};

/** Who receives a mail, and where the person answers its request; without `answerUrl`, the mail does not lead there. */
export type Recipient = { readonly address: string; readonly answerUrl?: string | undefined };

/** Longer links do not fit on a line of a header (RFC 5322, section 2.1.1). */
const MAX_HEADER_URL = 950;

/**
 * Composes the mail of a message. Texts are values of structured fields, which nodemailer encodes, so they cannot add
 * headers or recipients. Attempts for the same message have the same `Message-ID`.
 */
export function composeMail(
  message: Message,
  { address, answerUrl }: Recipient,
  { from, publicUrl, tokens }: MailSettings,
): SendMailOptions & { messageId: string } {
  const unsubscribeUrl = publicUrl === null ? null : toUnsubscribeUrl(publicUrl, tokens.sign(message));
  return {
    ...renderMail(message, answerUrl, unsubscribeUrl),
    ...composeHeaders(unsubscribeUrl),
    from: { ...from },
    to: { name: '', address },
    subject: message.title,
    messageId: `<${hashMessageKey(message)}@${from.address.split('@').at(-1)}>`,
  };
}

function composeHeaders(unsubscribeUrl: string | null): SendMailOptions {
  const autoSubmitted = { 'Auto-Submitted': 'auto-generated' };
  if (!unsubscribeUrl?.startsWith('https:') || unsubscribeUrl.length > MAX_HEADER_URL)
    return { headers: autoSubmitted };
  return {
    headers: { ...autoSubmitted, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
    list: { unsubscribe: unsubscribeUrl },
  };
}

/** What notifications of a kind are about, worded to follow "email about". */
export const kindNames: Readonly<Record<NotificationKind, string>> = {
  plan_requested: 'plans that need your approval',
  question_requested: 'questions for you',
  task_failed: 'failed tasks',
  task_response_ready: 'task responses',
};

/** The content of a mail, as plain text and as HTML. */
type MailContent = { text: string; html: string };

const ANSWER = 'Read and answer';
const ANYBODY = 'Anyone who has this link can answer. Do not forward this email.';

const QUOTE = 'white-space: pre-wrap; margin: 1rem 0; padding-left: 1rem; border-left: 3px solid #888';

/**
 * Renders a mail. The HTML has no images, tables, scripts or classes, and no colors of text and background, so mail
 * programs apply their own light or dark theme.
 */
function renderMail(
  message: Message,
  answerUrl: string | undefined,
  unsubscribeUrl: string | null,
): MailContent {
  const { questions } = message;
  // Questions are listed with their options instead.
  const details = questions.length === 0 ? message.details : null;
  const facts = listFacts(message);
  const stop = `Stop email about ${kindNames[message.kind]}`;

  const text = [
    message.title,
    message.request,
    details,
    ...questions.map(formatQuestion),
    facts.map(([name, value]) => `${name}: ${value}`).join('\n'),
    answerUrl && `${ANSWER}: ${answerUrl}\n(${ANYBODY})`,
    message.url && `Open the notification: ${message.url}`,
    unsubscribeUrl && `-- \n${stop}: ${unsubscribeUrl}`,
  ];
  const html = [
    `<h1 style="font-size: 1.25rem">${escapeHtml(message.title)}</h1>`,
    `<p>${escapeHtml(message.request)}</p>`,
    details && `<blockquote style="${QUOTE}">${escapeHtml(details)}</blockquote>`,
    ...questions.map(renderQuestion),
    `<p>${facts.map(([name, value]) => `${name}: ${escapeHtml(value)}`).join('<br>\n')}</p>`,
    answerUrl && `<p><strong>${renderLink(answerUrl, ANSWER)}</strong><br><small>${ANYBODY}</small></p>`,
    message.url && `<p>${renderLink(message.url, 'Open the notification')}</p>`,
    unsubscribeUrl && `<hr>\n<p><small>${renderLink(unsubscribeUrl, stop)}</small></p>`,
  ];
  return {
    text: removeControls(`${text.filter((part) => part != null).join('\n\n')}\n`),
    html: removeControls(renderDocument(message.title, html.filter((part) => part != null).join('\n'))),
  };
}

function formatQuestion({ question, options, omitted }: MessageQuestion): string {
  const items = options.map((option, index) => `${index + 1}. ${option}`);
  return [question, ...items, ...noteOmitted(omitted)].join('\n');
}

function renderQuestion({ question, options, omitted }: MessageQuestion): string {
  const items = options.map((option) => `<li>${escapeHtml(option)}</li>`);
  return [
    `<blockquote style="${QUOTE}">${escapeHtml(question)}</blockquote>`,
    ...(items.length > 0 ? [`<ol>\n${items.join('\n')}\n</ol>`] : []),
    ...noteOmitted(omitted).map((note) => `<p>${note}</p>`),
  ].join('\n');
}

function noteOmitted(omitted: number): string[] {
  return omitted > 0 ? [`(and ${omitted} more)`] : [];
}

function listFacts({ task, project, occurredAt }: Message): [name: string, value: string][] {
  // 2026-01-31T09:30:00.000Z
  const time = `${occurredAt.slice(0, 10)} ${occurredAt.slice(11, 16)} UTC`;
  return [
    ['Task', task],
    ['Project', project],
    ['Time', time],
  ];
}

function renderDocument(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
</head>
<body>
<div style="max-width: 40rem; margin: 0 auto; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere">
${body}
</div>
</body>
</html>
`;
}

function renderLink(url: string, label: string): string {
  return `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a>`;
}

/** Removes control characters except tab and line feed. */
function removeControls(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\n]/gu, '');
}
