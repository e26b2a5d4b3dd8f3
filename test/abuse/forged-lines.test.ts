import fc from 'fast-check';
import { simpleParser } from 'mailparser';
import { createTransport } from 'nodemailer';
import { expect, test } from 'vitest';
import { formatMessage } from '../../src/delivery/chat/chat-text.ts';
import type { DeliveryData } from '../../src/delivery/claim.ts';
import { composeMail } from '../../src/delivery/email/mail.ts';
import { describeMessage, type Message } from '../../src/delivery/message.ts';
import { formatPayload } from '../../src/delivery/push/push-channel.ts';
import { toLine } from '../../src/values/line.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { claim, data } from '../support/delivery-job.ts';

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

function describe(names: Partial<DeliveryData>): Message {
  return (
    describeMessage(claim, { ...data, ...names }, 'https://app.example.com/{id}') ?? expect.unreachable()
  );
}

const settings = {
  from: { name: 'Workspaces', address: 'no-reply@example.com' },
  publicUrl: 'https://gateway.example.com',
  tokens: { sign: () => 'token' },
};
const transport = createTransport({ streamTransport: true, buffer: true });

async function receive(message: Message) {
  const { message: source } = await transport.sendMail(composeMail(message, 'alice@example.com', settings));
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
