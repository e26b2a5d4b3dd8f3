import { createSecretKey, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, test } from 'vitest';
import {
  classifyError,
  createEmailChannel,
  type EmailOptions,
  type SmtpError,
} from '../../src/delivery/email/email-channel.ts';
import type { Recipient } from '../../src/delivery/email/mail.ts';
import { createUnsubscribeTokens } from '../../src/delivery/email/unsubscribe-token.ts';
import type { Message } from '../../src/delivery/message.ts';
import { Secret } from '../../src/values/secret.ts';
import { toLine } from '../../src/values/text.ts';
import {
  acceptExcept,
  type MailServer,
  refusal,
  startBrokenServer,
  startMailServer,
} from '../support/mail-server.ts';
import { createCertificate, trustCertificate } from '../support/servers.ts';
import { formatOutcome, message } from './providers.ts';

const tokens = createUnsubscribeTokens(new Map([['a', createSecretKey(randomBytes(32))]]));
const from = { name: 'Workspaces', address: 'no-reply@example.com' };
const alice: Recipient = { address: 'alice@example.org' };
const publicUrl = 'https://gateway.example.com';
const unsubscribeLink = `${publicUrl}/unsubscribe/${tokens.sign(message)}`;

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Closes a server after the test. */
async function closeLater<Server extends { close(): Promise<void> }>(
  starting: Promise<Server>,
): Promise<Server> {
  const server = await starting;
  cleanups.push(server.close);
  return server;
}
const startServer = (options?: SMTPServerOptions) => closeLater(startMailServer(options));
const startBroken = (...given: Parameters<typeof startBrokenServer>) =>
  closeLater(startBrokenServer(...given));

/** 127.0.0.1 is loopback. Linux connects to it by 0.0.0.0 too, which the channel takes for another machine. */
const OTHER_MACHINE = '0.0.0.0';
const local = ({ port }: { port: number }) => `smtp://127.0.0.1:${port}`;

/** For servers that do not reply. */
const short = { connectionTimeout: 1000, greetingTimeout: 1000, socketTimeout: 1000 };

function openChannel(address: string, options: Partial<EmailOptions> = {}) {
  const config = { url: new Secret(address), from, delaySeconds: 0 };
  const channel = createEmailChannel(config, { publicUrl, tokens, ...options });
  cleanups.push(() => channel.close());
  return {
    concurrency: channel.concurrency,
    /** Sends the message, by default with more than enough time, and formats the outcome. */
    send: async (
      changes: Partial<Message> = {},
      recipient: Recipient = alice,
      signal = AbortSignal.timeout(20_000),
    ) => formatOutcome(await channel.send({ ...message, ...changes }, recipient, signal)),
  };
}

const sendTo = (address: string, options?: Partial<EmailOptions>) => openChannel(address, options).send();

/** Sends one mail to a server and returns it. */
async function receive(changes: Partial<Message> = {}, options: Partial<EmailOptions> = {}) {
  const server = await startServer();
  expect(await openChannel(local(server), options).send(changes)).toBe('delivered');
  const [mail, ...others] = server.mails;
  expect(others).toEqual([]);
  return mail ?? expect.unreachable('No mail arrived.');
}

describe('a mail', () => {
  test('has title, request, details, task, project, time in UTC and link, as text and as HTML', async () => {
    const { parsed, from: sender, to } = await receive();
    expect([sender, to]).toEqual(['no-reply@example.com', ['alice@example.org']]);
    expect(parsed.subject).toBe('Add a login page');
    expect(parsed.from?.value).toEqual([from]);
    expect(parsed.text).toBe(`Add a login page

A plan needs your approval.

1. Add a form
2. Test it

Task: Login
Project: web-shop
Time: 2026-05-04 10:00 UTC

Open the notification: https://app.example.com/inbox/n-1

-- 
Stop email about plans that need your approval: ${unsubscribeLink}
`);
    for (const part of [
      '>Add a login page</h1>',
      '<p>A plan needs your approval.</p>',
      '1. Add a form\n2. Test it',
      'Task: Login<br>\nProject: web-shop<br>\nTime: 2026-05-04 10:00 UTC',
      '<a href="https://app.example.com/inbox/n-1">',
      `<a href="${unsubscribeLink}">`,
    ])
      expect(parsed.html).toContain(part);
    expect(parsed.html).not.toMatch(/<(img|table|script|link|style)/);
  });

  test('lists the questions with their numbered options in place of the details, as text and as HTML', async () => {
    const options = ['Half to even: As today', 'Up & away'];
    const questions = [
      { question: 'How should <half a cent> be rounded?', options, omitted: 3 },
      { question: 'When?', options: [], omitted: 0 },
    ];
    const { parsed } = await receive({ kind: 'question_requested', details: 'Both questions', questions });
    expect(parsed.text).toContain(
      '\n\nHow should <half a cent> be rounded?\n1. Half to even: As today\n2. Up & away\n(and 3 more)\n\nWhen?\n\n',
    );
    expect(parsed.html).toContain(`>How should &lt;half a cent&gt; be rounded?</blockquote>
<ol>
<li>Half to even: As today</li>
<li>Up &amp; away</li>
</ol>
<p>(and 3 more)</p>
<blockquote`);
    expect(`${parsed.text}${parsed.html}`).not.toContain('Both questions');
  });

  test('omits what a notification does not have', async () => {
    const { parsed } = await receive({ details: null, url: null });
    expect(parsed.text).toMatch(
      /^Add a login page\n\nA plan [^\n]*\n\nTask: Login\nProject: web-shop\nTime: [^\n]*\n\n-- \n[^\n]*\n$/,
    );
    expect(parsed.html).not.toMatch(/null|blockquote|Open the notification/);
  });

  test('has the same Message-ID for each attempt of a notification', async () => {
    const ids = await Promise.all(
      [{}, { title: 'Another title' }, { notificationId: 'n-2' }].map(
        async (changes) => (await receive(changes)).parsed.messageId,
      ),
    );
    expect(ids[0]).toMatch(/^<[\w-]{43}@example\.com>$/);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  test('identifies itself as automatic, and can be unsubscribed from with one click (RFC 8058) if PUBLIC_URL is https', async () => {
    const { source, parsed } = await receive();
    expect(parsed.headers.get('auto-submitted')).toBe('auto-generated');
    expect(source.replaceAll(/\r\n[ \t]+/g, ' ')).toContain(`\r\nList-Unsubscribe: <${unsubscribeLink}>\r\n`);
    expect(source).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
  });

  test('has the link only in the text if PUBLIC_URL is http, and none without PUBLIC_URL', async () => {
    const plain = await receive({}, { publicUrl: 'http://gateway.example.com' });
    const without = await receive({}, { publicUrl: null });
    expect(plain.parsed.text).toContain('http://gateway.example.com/unsubscribe/');
    expect(without.parsed.text).not.toMatch(/unsubscribe|--/);
    for (const { source } of [plain, without]) expect(source).not.toContain('List-Unsubscribe');
  });

  test('has no unsubscribe header that is longer than a line (RFC 5322, section 2.1.1)', async () => {
    const { source, parsed } = await receive({ userId: '用户'.repeat(127) });
    expect(source).not.toContain('List-Unsubscribe');
    expect(parsed.text).toContain('https://gateway.example.com/unsubscribe/');
    for (const line of source.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(998);
  });

  const hostile =
    'A\r\nBcc: eve@example.net\r\n\r\n<img src=x onerror=alert(1)>\u0000\u001b[2J\u0085 "\' & 用户';

  test('cannot get headers, recipients or markup from the texts of a notification', async () => {
    const { source, parsed, to } = await receive({
      title: toLine(hostile),
      request: hostile,
      details: `.\r\nQUIT\r\n${hostile}`,
      questions: [{ question: hostile, options: [toLine(hostile)], omitted: 0 }],
      task: toLine(hostile),
      project: toLine(hostile),
      userId: `alice\r\nBcc: eve@example.net`,
      notificationId: `n>\r\nBcc: eve@example.net`,
    });
    expect(to).toEqual(['alice@example.org']);
    expect([parsed.bcc, parsed.cc]).toEqual([undefined, undefined]);
    const headers = parsed.headerLines.map(({ key }) => key);
    expect(headers.toSorted().join(' ')).toBe(
      'auto-submitted content-type date from list-unsubscribe list-unsubscribe-post message-id mime-version subject to',
    );
    expect(parsed.subject).toBe('A Bcc: eve@example.net <img src=x onerror=alert(1)> [2J "\' & 用户');
    expect(parsed.html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(parsed.html).not.toContain('<img');
    expect(source).not.toMatch(/[^\P{Cc}\r\n\t]/u);
    expect(`${parsed.text}${parsed.html}`).not.toMatch(/[^\P{Cc}\n\t]/u);
  });

  const suspended = /^failed recipient_rejected \w+ suspendTarget$/;
  test.each<[address: string, outcome: RegExp]>([
    ['alice@example.org>\r\nRCPT TO:<eve@example.net', /./],
    ['alice@example.org, eve@example.net', /./],
    ['alice@example.org\r\n\r\nText', /./],
    ['eve@example.net <alice@example.org>', /./],
    ['', suspended],
    ['<>', suspended],
    ['\r\n', suspended],
  ])('to the address %j is sent to at most one recipient', async (address, expected) => {
    const server = await startServer();
    const outcome = await openChannel(local(server)).send({}, { address });
    expect(outcome).toMatch(expected);
    expect(server.mails.length).toBe(outcome === 'delivered' ? 1 : 0);
    for (const { to, parsed } of server.mails) {
      expect(to).toHaveLength(1);
      expect(to).not.toContain('eve@example.net');
      expect(parsed.text).toContain('A plan needs your approval.');
    }
  });
});

describe('TLS', () => {
  const certificate = createCertificate('IP:0.0.0.0');
  const other = createCertificate('DNS:mail.test');
  const refused = /^unavailable provider_refused \S+ needsOperator$/;

  describe.each([
    ['STARTTLS', 'smtp', false],
    ['implicit TLS', 'smtps', true],
  ])('%s', (_what, protocol, secure) => {
    const on = (host: string, { port }: MailServer) => `${protocol}://${host}:${port}`;

    test('sends to a server with a trusted certificate of its host, or on loopback, and to no other', async () => {
      const [right, wrong] = [
        await startServer({ ...certificate, secure }),
        await startServer({ ...other, secure }),
      ];
      const reject = (code: string) => `unavailable provider_refused ${code} needsOperator`;
      expect(await sendTo(on(OTHER_MACHINE, right))).toBe(reject('DEPTH_ZERO_SELF_SIGNED_CERT'));
      for (const trusted of [certificate, other]) {
        const untrust = trustCertificate(trusted);
        cleanups.push(async () => untrust());
      }
      expect(await sendTo(on(OTHER_MACHINE, wrong))).toBe(reject('ERR_TLS_CERT_ALTNAME_INVALID'));
      expect([...right.mails, ...wrong.mails]).toEqual([]);
      expect(await sendTo(on('127.0.0.1', wrong))).toBe('delivered');
      expect(await sendTo(on(OTHER_MACHINE, right))).toBe('delivered');
      expect([...right.mails, ...wrong.mails].map(({ isSecure }) => isSecure)).toEqual([true, true]);
    });
  });

  test('sends neither credentials nor mail to a server without TLS on another machine, whatever the query says', async () => {
    let logins = 0;
    const server = await startServer({
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => {
        logins += 1;
        done(null, { user: 'gateway' });
      },
    });
    const query =
      'requireTLS=false&ignoreTLS=true&opportunisticTLS=true&tls.rejectUnauthorized=false&logger=true';
    const host = `${OTHER_MACHINE}:${server.port}`;
    for (const url of [
      `smtp://gateway:secret@${host}`,
      `smtp://gateway:secret@${host}?${query}`,
      `smtps://${host}`,
    ])
      expect(await sendTo(url), url).toMatch(refused);
    expect([logins, server.mails.length]).toEqual([0, 0]);
  });
});

test.each<[what: string, userInfo: string, outcome: string]>([
  ['are taken from SMTP_URL, percent-decoded', 'gateway%40example.com:p%3A%2F%3F%C3%A4%25@', 'delivered'],
  ['are rejected', 'gateway:wrong@', 'unavailable provider_refused 535 5.7.8 needsOperator'],
  ['are missing', '', 'unavailable provider_refused 530 needsOperator'],
])('credentials %s', async (_what, userInfo, outcome) => {
  const server = await startServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) => {
      if (username === 'gateway@example.com' && password === 'p:/?ä%') done(null, { user: 'gateway' });
      else done(refusal(535, '5.7.8 Wrong password'));
    },
  });
  expect(await sendTo(`smtp://${userInfo}127.0.0.1:${server.port}`)).toBe(outcome);
  expect(server.mails).toHaveLength(outcome === 'delivered' ? 1 : 0);
});

test.each<
  [command: 'MAIL' | 'RCPT' | 'DATA', hidePIPELINING: boolean, status: number, text: string, outcome: string]
>([
  ['MAIL', false, 550, '5.7.1 No', 'unavailable provider_refused 550 5.7.1 needsOperator'],
  ['RCPT', false, 550, '5.1.1 No such user', 'failed recipient_rejected 550 5.1.1 suspendTarget'],
  ['RCPT', true, 450, '4.2.0 Greylisted', 'retry recipient_rejected 450 4.2.0'],
  ['DATA', true, 554, '5.6.0 Spam', 'failed message_rejected 554 5.6.0'],
])(
  'a rejection of %s (pipelining hidden: %s) with %i %s is classified, and the next mail is delivered',
  async (command, hidePIPELINING, status, text, outcome) => {
    let isFirst = true;
    const refuse = (by: string) => (isFirst && command === by ? refusal(status, text) : null);
    const server = await startServer({
      hidePIPELINING,
      onMailFrom: (_address, _session, done) => done(refuse('MAIL')),
      onRcptTo: (_address, _session, done) => done(refuse('RCPT')),
      onData: (stream, _session, done) => void stream.resume().on('end', () => done(refuse('DATA'))),
    });
    const channel = openChannel(local(server));
    expect(await channel.send()).toBe(outcome);
    isFirst = false;
    expect(await channel.send()).toBe('delivered');
  },
);

test.each([
  ['554 5.3.2 No service', '', 'unavailable provider_refused 554 5.3.2 needsOperator'],
  ['421 4.3.2 Later', '', 'unavailable provider_unavailable 421 4.3.2'],
  // RFC 3207, section 4.
  ['220 mail.test', '454 4.7.0 TLS not available', 'unavailable provider_unavailable 454 4.7.0'],
])(
  'a server that greets with %s and replies %j to STARTTLS pauses the provider',
  async (greeting, reply, outcome) => {
    const starttls = acceptExcept({
      EHLO: (socket) => socket.write('250-mail.test\r\n250 STARTTLS\r\n'),
      STARTTLS: (socket) => socket.write(`${reply}\r\n`),
    });
    expect(await sendTo(local(await startBroken(greeting, starttls)))).toBe(outcome);
  },
);

describe('the outcome of a reply', () => {
  const codes: Readonly<Record<string, string>> = {
    CONN: 'EPROTOCOL',
    EHLO: 'ECONNECTION',
    STARTTLS: 'ETLS',
    'AUTH PLAIN': 'EAUTH',
  };
  /** Classifies the error of a reply to a command, with the code that nodemailer gives it. */
  const classifyReply = (command: string, response: string) =>
    formatOutcome(classifyError({ code: codes[command] ?? 'EENVELOPE', command, response }, false));

  const waiting = 'unavailable provider_unavailable CODE';
  const operator = 'unavailable provider_refused CODE needsOperator';
  const suspended = 'failed recipient_rejected CODE suspendTarget';
  const recipientRejected = 'failed recipient_rejected CODE';
  const messageRejected = 'failed message_rejected CODE';
  const refused = 'retry provider_refused CODE';
  const recipientLater = 'retry recipient_rejected CODE';
  const messageLater = 'retry message_rejected CODE';

  test.each<[command: string, outcome: string, responses: string[]]>([
    ['MAIL FROM', waiting, ['421 4.7.0 Try later']],
    ['MAIL FROM', messageLater, ['450 4.1.8 Sender domain not found']],
    ['MAIL FROM', operator, ['501 5.1.7 Bad sender', '530 5.7.0 STARTTLS first', '503 Authenticate first']],
    ['RCPT TO', waiting, ['421 4.7.0 Too many recipients']],
    ['RCPT TO', recipientLater, ['450 4.1.1 Unverified', '503 5.5.1 Sequence', '454 4.7.1 Relaying denied']],
    ['RCPT TO', refused, ['530 5.7.1 Authentication required', '530 Authentication required']],
    ['RCPT TO', refused, ['550 5.1.7 Sender', '550 5.1.8 Sender', '553 5.7.1 Sender', '554 5.7.1 Relaying']],
    ['RCPT TO', suspended, ['550 5.1.0 Rejected', '550 5.1.10 Null MX', '553 5.1.3 Bad address syntax']],
    ['RCPT TO', suspended, ['550-5.1.1 No such user\n550 5.1.1 See', '550 5.1.1 <alice@example.org>: no']],
    ['RCPT TO', recipientRejected, ['550 User unknown', '552 5.2.2 Full', '550 5.70.1 Unknown']],
    // Without codes that are none, such as 5.1.1234, and without text.
    ['RCPT TO', recipientRejected, ['550 alice@example.org', '550 5.1.1234 alice']],
    ['DATA', messageLater, ['451 4.7.1 Greylisted', '250 OK']],
    ['DATA', suspended, ['550 5.1.1 No such user']],
    ['DATA', refused, ['550 5.7.1 Spam', '550 5.7.26 Unauthenticated sender']],
    ['DATA', messageRejected, ['554 5.6.0 Invalid content']],
    ['AUTH PLAIN', operator, ['535 5.7.8 Wrong password']],
    ['AUTH PLAIN', waiting, ['454 4.7.0 Cannot check the password']],
    ['CONN', operator, ['554 5.7.1 Blocked']],
    ['EHLO', waiting, ['421 4.3.0 Busy']],
    ['EHLO', operator, ['550 5.0.0 No']],
    ['STARTTLS', waiting, ['454 4.7.0 Not available']],
    ['STARTTLS', operator, ['502 5.5.1 Not implemented']],
  ])('to %s: %s', (command, outcome, responses) => {
    for (const response of responses) {
      const [code = ''] = /^\d{3}([ -]\d\.\d+\.\d{1,3}(?!\d))?/.exec(response) ?? [];
      const expected = outcome.replace('CODE', code.replace('-', ' '));
      expect(classifyReply(command, response), response).toBe(expected);
    }
  });

  test.each<[error: SmtpError, wasHandedOver: boolean, outcome: string]>([
    [{ code: 'EDNS', originalCode: 'ENOTFOUND' }, false, waiting],
    [{ code: 'ESOCKET', originalCode: 'ECONNREFUSED' }, false, waiting],
    [{ code: 'ESOCKET', originalCode: 'CERT_HAS_EXPIRED' }, false, operator],
    [{ code: 'ESOCKET', originalCode: 'EPROTO' }, false, operator],
    [{ code: 'ETLS' }, false, waiting],
    [{ code: 'EAUTH' }, false, operator],
    [{ code: 'ESTREAM' }, false, 'retry provider_unavailable CODE'],
    // Once the server may have received the whole message.
    ...['ECONNECTION', 'ESOCKET', 'ETIMEDOUT', 'EABORT', 'EPROTOCOL'].map(
      (code): [SmtpError, boolean, string] => [{ code }, true, 'retry reply_lost CODE'],
    ),
  ])('that is missing: %j', (error, wasHandedOver, outcome) => {
    const expected = outcome.replace('CODE', error.originalCode ?? error.code ?? '');
    expect(formatOutcome(classifyError({ command: 'CONN', ...error }, wasHandedOver))).toBe(expected);
  });
});

describe('a failure of the connection', () => {
  const waiting = 'unavailable provider_unavailable';
  const lost = 'retry reply_lost';

  test('pauses if the server is unreachable or silent, or closes the connection', async () => {
    const server = await startMailServer();
    await server.close();
    expect(await sendTo(local(server))).toBe(`${waiting} ECONNREFUSED`);
    expect(await sendTo(local(await startBroken(null)), { timeouts: short })).toBe(`${waiting} ETIMEDOUT`);
    const closing = await startBroken('220 mail.test', (_line, socket) => socket.destroy());
    expect(await sendTo(local(closing))).toBe(`${waiting} ECONNECTION`);
  });

  const failures: [what: string, fail: (socket: Socket) => void][] = [
    ['sends no reply', () => undefined],
    ['resets the connection', (socket) => void socket.resetAndDestroy()],
    ['closes its side of the connection', (socket) => void socket.end()],
  ];

  test.each([
    ['MAIL', waiting],
    ['DATA', waiting],
    ['.', lost],
  ])('after %s: %s', async (stage, outcome) => {
    const sending = failures.map(async ([what, fail]) => {
      const server = await startBroken('220 mail.test', acceptExcept({ [stage]: fail }));
      return { what, sent: await sendTo(local(server), { timeouts: short }) };
    });
    for (const { what, sent } of await Promise.all(sending))
      expect(sent.startsWith(outcome), `${what}: ${sent}`).toBe(true);

    // The time for the attempt is over.
    const attempt = new AbortController();
    const abort = acceptExcept({ [stage]: () => attempt.abort() });
    const server = await startBroken('220 mail.test', abort);
    expect(await openChannel(local(server)).send({}, alice, attempt.signal)).toBe(`${outcome} EABORT`);
  });

  test('sends nothing if the time was over before', async () => {
    const server = await startServer();
    const sent = await openChannel(local(server)).send({}, alice, AbortSignal.abort());
    expect(sent).toBe(`${waiting} EABORT`);
    expect(server.connections).toBe(0);
  });
});

test('at most five connections are opened, and used again', async () => {
  const server = await startServer();
  const channel = openChannel(local(server));
  expect(channel.concurrency).toBe(5);
  const ids = Array.from({ length: 40 }, (_none, index) => `n-${index}`);
  await Promise.all(ids.map((notificationId) => channel.send({ notificationId })));
  expect(server.mails).toHaveLength(40);
  expect(server.connections).toBe(5);
});
