import type { Message } from '../message.ts';
import { kindNames } from './kind-names.ts';

/** The content of a mail, as plain text and as HTML. */
export type MailContent = { text: string; html: string };

const QUOTE = 'white-space: pre-wrap; margin: 1rem 0; padding-left: 1rem; border-left: 3px solid #888';

/**
 * Renders a mail. The HTML has no images, tables, scripts or classes, and no colors of text and background, so mail
 * programs apply their own light or dark theme.
 */
export function renderMail(message: Message, unsubscribeUrl: string | null): MailContent {
  const { details } = message;
  const facts = listFacts(message);
  const stop = `Stop email about ${kindNames[message.kind]}`;

  const text = [
    message.title,
    message.request,
    details,
    facts.map(([name, value]) => `${name}: ${value}`).join('\n'),
    message.url && `Open the notification: ${message.url}`,
    unsubscribeUrl && `-- \n${stop}: ${unsubscribeUrl}`,
  ];
  const html = [
    `<h1 style="font-size: 1.25rem">${escapeHtml(message.title)}</h1>`,
    `<p>${escapeHtml(message.request)}</p>`,
    details && `<blockquote style="${QUOTE}">${escapeHtml(details)}</blockquote>`,
    `<p>${facts.map(([name, value]) => `${name}: ${escapeHtml(value)}`).join('<br>\n')}</p>`,
    message.url && `<p>${renderLink(message.url, 'Open the notification')}</p>`,
    unsubscribeUrl && `<hr>\n<p><small>${renderLink(unsubscribeUrl, stop)}</small></p>`,
  ];
  return {
    text: removeControls(`${text.filter((part) => part !== null).join('\n\n')}\n`),
    html: removeControls(renderDocument(message.title, html.filter((part) => part !== null).join('\n'))),
  };
}

function listFacts({ taskName, projectName, occurredAt }: Message): [name: string, value: string][] {
  // 2026-01-31T09:30:00.000Z
  const time = `${occurredAt.slice(0, 10)} ${occurredAt.slice(11, 16)} UTC`;
  const facts: [string, string | null][] = [
    ['Task', taskName],
    ['Project', projectName],
    ['Time', time],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
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

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** Removes control characters except tab and line feed. */
function removeControls(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\n]/gu, '');
}
