import fc from 'fast-check';
import { simpleParser } from 'mailparser';
import { createTransport } from 'nodemailer';
import { expect, onTestFinished, test } from 'vitest';
import { formatMessage } from '../../src/delivery/chat/chat-text.ts';
import { composeMail } from '../../src/delivery/email/mail.ts';
import { describeMessage, type Message } from '../../src/delivery/message.ts';
import { formatPayload } from '../../src/delivery/push/push-channel.ts';
import type { Notification } from '../../src/notifications/notification.entity.ts';
import { MEMBER_ID_MESSAGE } from '../../src/values/constraints.ts';
import { toLine } from '../../src/values/text.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { refused } from '../support/as.ts';
import { startChatApi } from '../support/chat-api.ts';
import { listDeliveries, putContact } from '../support/delivery.ts';
import { claim, notification } from '../support/delivery-job.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

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
  const mail = composeMail(message, { address: 'alice@example.com' }, settings);
  return simpleParser(String((await transport.sendMail(mail)).message));
}

test('messages have as many lines whatever the names contain, and push messages a title of one line', async () => {
  const plain = describe({});
  const expected = countLines((await receive(plain)).text ?? '');
  const expectedInChat = countLines(formatMessage(plain));
  await fc.assert(
    fc.asyncProperty(arbitraryNames, async (names) => {
      const message = describe(names);
      const { text = '', subject = '' } = await receive(message);
      expect(countLines(text)).toBe(expected);
      expect(countLines(subject)).toBe(1);
      expect(countLines(formatMessage(message))).toBe(expectedInChat);
      expect(countLines(JSON.parse(formatPayload(message).toString()).title)).toBe(1);
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
  'http://[2001:db8::1]/',
  '203.0.113.7:80/login',
  'http://localhost:3000',
  's3://bucket/key',
  '//evil.example.com/',
  'www.123',
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
function writeEverywhere(text: string, kind: 'plan' | 'question', byTask: boolean): Message {
  const names = { byTask, title: text, taskName: text, projectName: text };
  const questions = [{ question: text, options: [{ label: text, description: text }] }];
  return kind === 'plan'
    ? describe({ ...names, payload: { toolId: 'tool', input: { summary: text, plan: text } } })
    : describe({ ...names, kind: 'question_requested', payload: { toolId: 'tool', input: { questions } } });
}

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

/* `chat.postMessage` posts to channels as well, so a channel as a member ID would show a user's messages to others. */
test('a channel is rejected as a member ID, and nothing is posted to one that an earlier version has stored', async () => {
  const chat = await startChatApi();
  const gateway = await startTestGateway({ CHAT_TOKEN: chat.token, CHAT_API_URL: chat.url });
  onTestFinished(async () => {
    await gateway.close();
    await chat.close();
  });
  const names = ['#general', '@alice', '<!channel>', '!here', '<#C012AB3CD>'];
  for (const channel of [...names, 'C012AB3CD', 'G012AB3CD4E', 'D012AB3CD']) {
    const putting = gateway.as(platform).putContact({ userId: 'alice', chatMemberId: channel });
    const rule: [string, string] = ['input.chatMemberId', MEMBER_ID_MESSAGE];
    await expect(putting, channel).rejects.toMatchObject(refused('VALIDATION_FAILED', rule));

    const userId = `stored-${channel}`;
    await putContact(gateway, userId, { chatMemberId: 'U012AB3CD' });
    await gateway.database.sql('update contact set chat_member_id = $2 where user_id = $1', [
      userId,
      channel,
    ]);
    const { id } = await publish(gateway, userId);
    await eventually(async () =>
      expect(await listDeliveries(gateway, userId, id)).toMatchObject([
        { state: 'FAILED', reason: 'RECIPIENT_REJECTED', providerCode: 'ERR_NOT_A_MEMBER_ID' },
      ]),
    );
  }
  expect(chat.calls).toEqual([]);
});
