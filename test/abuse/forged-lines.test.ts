import fc from 'fast-check';
import { simpleParser } from 'mailparser';
import { createTransport } from 'nodemailer';
import { expect, test } from 'vitest';
import { formatMessage } from '../../src/delivery/chat/chat-text.ts';
import { composeMail } from '../../src/delivery/email/mail.ts';
import { describeMessage, type Message } from '../../src/delivery/message.ts';
import { formatPayload } from '../../src/delivery/push/push-channel.ts';
import type { Notification } from '../../src/notifications/notification.entity.ts';
import { toLine } from '../../src/values/text.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { claim, notification } from '../support/delivery-job.ts';

/*
 * The title and the names of task and project come from other users or from models. With a line break, they could add
 * lines that look like those of the gateway, such as another link.
 */

/** What mail programs, browsers or chats show as a line break. */
const BREAKS = ['\r\n', '\n', '\r', '\v', '\f', '\u001c', '\u001d', '\u001e', '\u0085', '\u2028', '\u2029'];
const REORDERING = ['\u202a', '\u202b', '\u202d', '\u202e', '\u202c', '\u2066', '\u2067', '\u2068', '\u2069'];

const countLines = (text: string) => text.split(new RegExp(BREAKS.join('|'))).length;

const arbitraryName = fc
  .array(fc.oneof(arbitraryCharacter, fc.constantFrom(...BREAKS, ...REORDERING, 'Open the notification: ')), {
    maxLength: 30,
  })
  // Empty names are not shown.
  .map((parts) => `x${parts.join('')}x`);
const arbitraryNames = fc.record({
  title: arbitraryName,
  taskName: arbitraryName,
  projectName: arbitraryName,
});

const describe = (names: Partial<Notification>): Message =>
  describeMessage(claim, { ...notification, ...names }, 'https://app.example.com/{id}');

const settings = {
  from: { name: 'Workspaces', address: 'no-reply@example.com' },
  publicUrl: 'https://gateway.example.com',
  tokens: { sign: () => 'token' },
};
const transport = createTransport({ streamTransport: true, buffer: true });

async function receive(message: Message) {
  const { message: source } = await transport.sendMail(
    composeMail(message, { address: 'alice@example.com' }, settings),
  );
  return simpleParser(String(source));
}

const plain = describe({});

test('an email has as many lines whatever the names contain', async () => {
  const expected = countLines((await receive(plain)).text ?? '');
  await fc.assert(
    fc.asyncProperty(arbitraryNames, async (names) => {
      const { text = '', subject = '' } = await receive(describe(names));
      expect(countLines(text)).toBe(expected);
      expect(countLines(subject)).toBe(1);
    }),
  );
});

test('an email has one line for each option of a question, whatever the option contains', async () => {
  const ask = (label: string, description: string) => {
    const questions = [{ question: 'Which?', options: [{ label, description }, { label: 'None' }] }];
    return describe({ kind: 'question_requested', payload: { toolId: 'tool', input: { questions } } });
  };
  const expected = countLines((await receive(ask('One', 'The first'))).text ?? '');
  await fc.assert(
    fc.asyncProperty(arbitraryName, arbitraryName, async (label, description) => {
      const { text = '' } = await receive(ask(label, description));
      expect(countLines(text)).toBe(expected);
      expect(text).toMatch(/^2\. None$/m);
    }),
  );
});

test('a chat message has as many lines whatever the names contain', () => {
  const expected = countLines(formatMessage(plain));
  fc.assert(
    fc.property(arbitraryNames, (names) => {
      expect(countLines(formatMessage(describe(names)))).toBe(expected);
    }),
  );
});

test('a push message has a title of one line whatever the title contains', () => {
  fc.assert(
    fc.property(arbitraryNames, (names) => {
      expect(countLines(JSON.parse(formatPayload(describe(names)).toString()).title)).toBe(1);
    }),
  );
});

test.each([
  ...BREAKS.map((character): [string, string] => [`a${character}b`, 'a b']),
  ...REORDERING.map((character): [string, string] => [`a${character}b`, 'ab']),
  [' a \t\n b\u00a0', 'a b'],
  ['\u05e9\u200f!', '\u05e9\u200f!'],
  ['\u{1f468}\u200d\u{1f469}', '\u{1f468}\u200d\u{1f469}'],
])('%j becomes the line %j', (text, line) => {
  expect(toLine(text)).toBe(line);
});

/** What code in a workspace could write to make its user follow a link. */
const LINKS = [
  'https://evil.example.com/login?a=1',
  'HTTP://EVIL.EXAMPLE.COM',
  'http://203.0.113.7/',
  'http://[2001:db8::1]/',
  '203.0.113.7:80/login',
  'http://localhost:3000',
  'ftp://evil.example.com/file',
  's3://bucket/key',
  '//evil.example.com/',
  'www.evil.example.com',
  'www.123',
  'evil.com',
  'evil.co.uk/path',
  'README.md',
  'b\u00fccher.de',
  'xn--bcher-kva.de',
  'evil\u3002com',
  'evil\uff0ecom',
  'evil.\u200bcom',
  'e\u00advil.com',
  'evil.com:443/path',
  'alice@evil.com',
  'mailto:alice@evil.com',
  'mailto:alice@localhost',
  'tel:+15550100',
  'javascript:alert(1)',
  '<https://evil.com|Open the notification>',
  '[Open](https://evil.com)',
  '<a href="https://evil.com">Open</a>',
  '\\\\server\\share',
  '&lt;https://evil.com&gt;',
];

/** The links that a program which looks for them in plain text makes clickable, besides those of the gateway. */
async function findLinks(text: string): Promise<string[]> {
  const { textAsHtml = '' } = await simpleParser(
    Buffer.concat([Buffer.from('Content-Type: text/plain; charset=utf-8\r\n\r\n'), Buffer.from(text)]),
  );
  const links = [...textAsHtml.matchAll(/<a href="([^"]*)"/g)].map(([, url = '']) => url);
  // Of mailparser alone, `@name` becomes a link to Twitter.
  return links.filter((url) => !/^https:\/\/((app|gateway)\.example|twitter)\.com\//.test(url));
}

/** Puts text into everything that a task writes. */
const writeEverywhere = (text: string, kind: 'plan' | 'question', byTask: boolean): Message =>
  describe({
    byTask,
    title: text,
    taskName: text,
    projectName: text,
    ...(kind === 'plan'
      ? { kind: 'plan_requested', payload: { toolId: 'tool', input: { summary: text, plan: text } } }
      : {
          kind: 'question_requested',
          payload: {
            toolId: 'tool',
            input: { questions: [{ question: text, options: [{ label: text, description: text }] }] },
          },
        }),
  });

/** The texts that reach the user: the parts of an email without the links of the gateway, and a chat message. */
async function listTexts(message: Message): Promise<string[]> {
  const { text = '', html, subject = '' } = await receive(message);
  return [text, String(html).replaceAll(/<[^>]*>/g, ' '), subject, formatMessage(message)];
}

test.each(LINKS)('%j of a task token is no link in mail and chat', async (link) => {
  for (const kind of ['plan', 'question'] as const) {
    const texts = await listTexts(writeEverywhere(`See ${link} (${link}), x${link}`, kind, true));
    for (const text of texts) {
      expect(await findLinks(text)).toEqual([]);
      expect(text.replaceAll(/https:\/\/(app|gateway)\.example\.com\/\S*/g, '')).not.toMatch(
        /[a-z]:\/\/|\w[.\u3002\uff0e\uff61][a-z\u200b]|www\.\S|(mailto|tel|javascript):\S|\\\\\S/i,
      );
    }
  }
});

test('whatever a task token writes, a program finds no link in it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(arbitraryCharacter, fc.constantFrom(...LINKS, '.', ':', '/', '@', ' ', 'com', 'www')),
      ),
      async (parts) => {
        for (const text of await listTexts(writeEverywhere(`x${parts.join('')}`, 'question', true)))
          expect(await findLinks(text)).toEqual([]);
      },
    ),
  );
});

test('what the platform publishes keeps its links', async () => {
  const texts = await listTexts(writeEverywhere('See https://docs.example.com/a', 'plan', false));
  for (const text of texts) expect(await findLinks(text)).toContain('https://docs.example.com/a');
});

test.each([
  'It is 10:30. Version 1.2.3 of .env is 3.5 times faster (see below): done!',
  'Ratio 1:2\nsecond line, e\u2026',
])('text without links stays as it is: %j', (text) => {
  const summary = { toolId: 'tool', input: { summary: text, plan: '' } };
  expect(describe({ byTask: true, payload: summary }).details).toBe(text);
});
