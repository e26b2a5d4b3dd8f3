import { createSecretKey, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, test } from 'vitest';
import type { Channel } from '../../src/delivery/channel.ts';
import { createEmailChannel, type EmailOptions } from '../../src/delivery/email/email-channel.ts';
import type { Recipient } from '../../src/delivery/email/mail.ts';
import { createUnsubscribeTokens } from '../../src/delivery/email/unsubscribe-token.ts';
import type { Message } from '../../src/delivery/message.ts';
import { Secret } from '../../src/values/secret.ts';
import { toLine } from '../../src/values/text.ts';
import { createCertificate, trustCertificate } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import {
  acceptExcept,
  type MailServer,
  refusal,
  startBrokenServer,
  startMailServer,
} from '../support/mail-server.ts';
import type { TestServer } from '../support/servers.ts';

const tokens = createUnsubscribeTokens(new Map([['a', createSecretKey(randomBytes(32))]]));
const from = { name: 'Workspaces', address: 'no-reply@example.com' };
const alice: Recipient = { address: 'alice@example.org' };

const message: Message = {
  userId: 'alice',
  notificationId: 'notification-1',
  kind: 'plan_requested',
  title: 'Plan for the web shop',
  request: 'A plan needs your approval.',
  details: '1. Add a cart\n2. Test it',
  questions: [],
  taskName: 'Add a cart',
  projectName: 'web-shop',
  occurredAt: '2026-05-04T10:00:00.000Z',
  expiresAt: '2026-05-05T10:00:00.000Z',
  url: 'https://app.example.com/inbox/notification-1',
};

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** 127.0.0.1 is loopback. Linux connects to it by 0.0.0.0 too, which the channel takes for another machine. */
const OTHER_MACHINE = '0.0.0.0';

async function startServer(options?: SMTPServerOptions): Promise<MailServer> {
  const server = await startMailServer(options);
  cleanups.push(server.close);
  return server;
}

async function startBroken(...input: Parameters<typeof startBrokenServer>): Promise<TestServer> {
  const server = await startBrokenServer(...input);
  cleanups.push(server.close);
  return server;
}

function openChannel(address: string, options: Partial<EmailOptions> = {}): Channel<Recipient> {
  const url = new Secret(address);
  const config = { url, from, delaySeconds: 0 };
  const channel = createEmailChannel(config, {
    publicUrl: 'https://gateway.example.com',
    tokens,
    ...options,
  });
  cleanups.push(() => channel.close());
  return channel;
}

/** For servers that do not reply. */
const short = { connectionTimeout: 1000, greetingTimeout: 1000, socketTimeout: 1000 };

/** The time of an attempt that is not supposed to run out. */
const enough = () => AbortSignal.timeout(20_000);

const sendTo = (address: string, options?: Partial<EmailOptions>) =>
  openChannel(address, options).send(message, alice, enough());

const local = ({ port }: { port: number }) => `smtp://127.0.0.1:${port}`;

/** Sends one mail to a server and returns it. */
async function receive(
  changes: Partial<Message> = {},
  options: Partial<EmailOptions> = {},
  target: Recipient = alice,
) {
  const server = await startServer();
  const outcome = await openChannel(local(server), options).send(
    { ...message, ...changes },
    target,
    enough(),
  );
  expect(outcome).toEqual({ kind: 'delivered' });
  const [mail, ...others] = server.mails;
  if (mail === undefined || others.length > 0) throw new Error('Not exactly one mail arrived.');
  return mail;
}

describe('a mail', () => {
  test('has title, request, details, task, project, time in UTC and link, as text and as HTML', async () => {
    const { parsed, from: sender, to } = await receive();
    const link = `https://gateway.example.com/unsubscribe/${tokens.sign(message)}`;
    expect([sender, to]).toEqual(['no-reply@example.com', ['alice@example.org']]);
    expect(parsed.subject).toBe('Plan for the web shop');
    expect(parsed.from?.value).toEqual([from]);
    expect(parsed.text).toBe(`Plan for the web shop

A plan needs your approval.

1. Add a cart
2. Test it

Task: Add a cart
Project: web-shop
Time: 2026-05-04 10:00 UTC

Open the notification: https://app.example.com/inbox/notification-1

-- 
Stop email about plans that need your approval: ${link}
`);
    const html = parsed.html || '';
    for (const part of [
      '<h1 style="font-size: 1.25rem">Plan for the web shop</h1>',
      '<p>A plan needs your approval.</p>',
      '1. Add a cart\n2. Test it',
      'Task: Add a cart<br>\nProject: web-shop<br>\nTime: 2026-05-04 10:00 UTC',
      '<a href="https://app.example.com/inbox/notification-1">',
      `<a href="${link}">`,
    ]) {
      expect(html).toContain(part);
    }
    expect(html).not.toMatch(/<(img|table|script|link|style)/);
  });

  test('lists the questions with their numbered options in place of the details, as text and as HTML', async () => {
    const questions = [
      {
        question: 'How should <half a cent> be rounded?',
        options: ['Half to even: As today', 'Up & away'],
        omitted: 3,
      },
      { question: 'When?', options: [], omitted: 0 },
    ];
    const { parsed } = await receive({ kind: 'question_requested', details: 'Both questions', questions });
    expect(parsed.text).toContain(`

How should <half a cent> be rounded?
1. Half to even: As today
2. Up & away
(and 3 more)

When?

Task: Add a cart
`);
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
    const { parsed } = await receive({ details: null, taskName: null, projectName: null, url: null });
    expect(parsed.text).toMatch(/^Plan for the web shop\n\nA plan [^\n]*\n\nTime: [^\n]*\n\n-- \n[^\n]*\n$/);
    expect(parsed.html).not.toMatch(/null|blockquote|Open the notification/);
  });

  test('identifies itself as automatic, with the same Message-ID for each attempt of a notification', async () => {
    const { parsed: first } = await receive();
    const { parsed: second } = await receive({ title: 'Another title' });
    const { parsed: other } = await receive({ notificationId: 'notification-2' });
    expect(first.headers.get('auto-submitted')).toBe('auto-generated');
    expect(first.messageId).toMatch(/^<[\w-]{43}@example\.com>$/);
    expect(second.messageId).toBe(first.messageId);
    expect(other.messageId).not.toBe(first.messageId);
  });

  test('can be unsubscribed from with one click (RFC 8058) if PUBLIC_URL is https', async () => {
    const { source, parsed } = await receive();
    const link = `https://gateway.example.com/unsubscribe/${tokens.sign(message)}`;
    expect(source.replaceAll(/\r\n[ \t]+/g, ' ')).toContain(`\r\nList-Unsubscribe: <${link}>\r\n`);
    expect(source).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(parsed.headers.get('list')).toMatchObject({ unsubscribe: { url: link } });
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
      taskName: toLine(hostile),
      projectName: toLine(hostile),
      userId: `alice\r\nBcc: eve@example.net`,
      notificationId: `n>\r\nBcc: eve@example.net`,
    });
    expect(to).toEqual(['alice@example.org']);
    expect([parsed.bcc, parsed.cc]).toEqual([undefined, undefined]);
    expect(parsed.headerLines.map(({ key }) => key).toSorted()).toEqual([
      'auto-submitted',
      'content-type',
      'date',
      'from',
      'list-unsubscribe',
      'list-unsubscribe-post',
      'message-id',
      'mime-version',
      'subject',
      'to',
    ]);
    expect(parsed.subject).toBe('A Bcc: eve@example.net <img src=x onerror=alert(1)> [2J "\' & 用户');
    expect(parsed.html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(parsed.html).not.toContain('<img');
    expect(source).not.toMatch(/[^\P{Cc}\r\n\t]/u);
    expect(`${parsed.text}${parsed.html}`).not.toMatch(/[^\P{Cc}\n\t]/u);
  });

  test.each([
    'alice@example.org>\r\nRCPT TO:<eve@example.net',
    'alice@example.org, eve@example.net',
    'alice@example.org\r\n\r\nText',
    'eve@example.net <alice@example.org>',
    'a;b:c@example.org',
  ])('is sent to at most one recipient: %j', async (address) => {
    const server = await startServer();
    const outcome = await openChannel(local(server)).send(message, { address }, enough());
    expect(server.mails.flatMap(({ to }) => to).filter((to) => to === 'eve@example.net')).toEqual([]);
    expect(server.mails.length).toBe(outcome.kind === 'delivered' ? 1 : 0);
    for (const { to, parsed } of server.mails) {
      expect(to).toHaveLength(1);
      expect(parsed.text).toContain('A plan needs your approval.');
    }
  });

  test.each(['', '<>', '\r\n'])('is not sent to the address %j, which is suspended', async (address) => {
    const server = await startServer();
    const outcome = await openChannel(local(server)).send(message, { address }, enough());
    expect(outcome).toMatchObject({ kind: 'failed', suspendTarget: true, reason: 'recipient_rejected' });
    expect(server.mails).toEqual([]);
  });
});

describe('TLS', () => {
  const certificate = createCertificate('IP:0.0.0.0');
  const unavailable = { kind: 'unavailable', needsOperator: true, reason: 'provider_refused' };

  test.each([
    ['STARTTLS', 'smtp', false],
    ['implicit TLS', 'smtps', true],
  ])('%s: sends to a server with a trusted certificate', async (_what, protocol, secure) => {
    const server = await startServer({ ...certificate, secure });
    const address = `${protocol}://${OTHER_MACHINE}:${server.port}`;
    const untrust = trustCertificate(certificate);
    cleanups.push(async () => untrust());
    expect(await sendTo(address)).toEqual({ kind: 'delivered' });
    expect(server.mails.map(({ isSecure }) => isSecure)).toEqual([true]);
  });

  test.each([
    ['STARTTLS', 'smtp', false],
    ['implicit TLS', 'smtps', true],
  ])('%s: refuses a certificate that is not trusted, or of another host', async (_what, protocol, secure) => {
    const other = createCertificate('DNS:mail.test');
    const untrusted = await startServer({ ...certificate, secure });
    const wrong = await startServer({ ...other, secure });
    const untrust = trustCertificate(other);
    cleanups.push(async () => untrust());
    expect(await sendTo(`${protocol}://${OTHER_MACHINE}:${untrusted.port}`)).toEqual({
      ...unavailable,
      providerCode: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
    expect(await sendTo(`${protocol}://${OTHER_MACHINE}:${wrong.port}`)).toEqual({
      ...unavailable,
      providerCode: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect([...untrusted.mails, ...wrong.mails]).toEqual([]);
  });

  test('sends neither credentials nor mail to a server without TLS on another machine', async () => {
    let logins = 0;
    const server = await startServer({
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => {
        logins += 1;
        done(null, { user: 'gateway' });
      },
    });
    const outcome = await sendTo(`smtp://gateway:secret@${OTHER_MACHINE}:${server.port}`);
    expect(outcome).toMatchObject(unavailable);
    expect([logins, server.mails.length]).toEqual([0, 0]);
  });

  test('ignores options in the query of SMTP_URL', async () => {
    const server = await startServer();
    const query =
      'requireTLS=false&ignoreTLS=true&opportunisticTLS=true&tls.rejectUnauthorized=false&logger=true';
    expect(await sendTo(`smtp://${OTHER_MACHINE}:${server.port}?${query}`)).toMatchObject(unavailable);
  });

  test('refuses smtps with a server that does not speak TLS', async () => {
    const server = await startServer();
    expect(await sendTo(`smtps://${OTHER_MACHINE}:${server.port}`)).toMatchObject(unavailable);
  });

  test.each(['smtp', 'smtps'])('accepts any certificate on loopback: %s', async (protocol) => {
    const server = await startServer({ ...certificate, secure: protocol === 'smtps' });
    expect(await sendTo(`${protocol}://127.0.0.1:${server.port}`)).toEqual({ kind: 'delivered' });
    expect(server.mails.map(({ isSecure }) => isSecure)).toEqual([true]);
  });

  test('pauses after a temporary rejection of STARTTLS (RFC 3207, section 4)', async () => {
    const starttls = acceptExcept({
      EHLO: (socket) => socket.write('250-mail.test\r\n250 STARTTLS\r\n'),
      STARTTLS: (socket) => socket.write('454 4.7.0 TLS not available\r\n'),
    });
    expect(await sendTo(local(await startBroken('220 mail.test', starttls)))).toEqual({
      kind: 'unavailable',
      needsOperator: false,
      reason: 'provider_unavailable',
      providerCode: '454 4.7.0',
    });
  });
});

describe('credentials', () => {
  const options: SMTPServerOptions = {
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) => {
      if (username === 'gateway@example.com' && password === 'p:/?ä%') done(null, { user: 'gateway' });
      else if (username === 'busy') done(refusal(454, '4.7.0 Temporary authentication failure'));
      else done(refusal(535, '5.7.8 Wrong password'));
    },
  };
  const withUser = (server: MailServer, user: string, password: string) =>
    `smtp://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${server.port}`;

  test('are taken from SMTP_URL, percent-decoded', async () => {
    const server = await startServer(options);
    expect(await sendTo(withUser(server, 'gateway@example.com', 'p:/?ä%'))).toEqual({ kind: 'delivered' });
  });

  test('need an operator if they are rejected or missing, but not if the server cannot check them', async () => {
    const server = await startServer(options);
    const refused = { kind: 'unavailable', needsOperator: true, reason: 'provider_refused' };
    expect(await sendTo(withUser(server, 'gateway@example.com', 'wrong'))).toEqual({
      ...refused,
      providerCode: '535 5.7.8',
    });
    expect(await sendTo(local(server))).toEqual({ ...refused, providerCode: '530' });
    expect(await sendTo(withUser(server, 'busy', 'x'))).toEqual({
      kind: 'unavailable',
      needsOperator: false,
      reason: 'provider_unavailable',
      providerCode: '454 4.7.0',
    });
    expect(server.mails).toEqual([]);
  });
});

describe('a rejection', () => {
  const rejected = { kind: 'failed', suspendTarget: false };
  const operator = { kind: 'unavailable', needsOperator: true, reason: 'provider_refused' };
  const refused = { kind: 'retry', reason: 'provider_refused' };
  const cases: [command: 'MAIL' | 'RCPT' | 'DATA', status: number, text: string, outcome: object][] = [
    ['MAIL', 451, '4.3.0 Later', { kind: 'retry', reason: 'message_rejected', providerCode: '451 4.3.0' }],
    ['MAIL', 550, '5.7.1 No', { ...operator, providerCode: '550 5.7.1' }],
    ['MAIL', 553, 'No', { ...operator, providerCode: '553' }],
    [
      'RCPT',
      450,
      '4.2.0 Greylisted',
      { kind: 'retry', reason: 'recipient_rejected', providerCode: '450 4.2.0' },
    ],
    [
      'RCPT',
      550,
      '5.1.1 No such user',
      { kind: 'failed', suspendTarget: true, reason: 'recipient_rejected', providerCode: '550 5.1.1' },
    ],
    ['RCPT', 550, '5.1.8 Your domain', { ...refused, providerCode: '550 5.1.8' }],
    ['RCPT', 554, '5.7.1 Relay access denied', { ...refused, providerCode: '554 5.7.1' }],
    ['RCPT', 552, '5.2.2 Full', { ...rejected, reason: 'recipient_rejected', providerCode: '552 5.2.2' }],
    ['RCPT', 550, 'No', { ...rejected, reason: 'recipient_rejected', providerCode: '550' }],
    ['DATA', 452, '4.3.1 Later', { kind: 'retry', reason: 'message_rejected', providerCode: '452 4.3.1' }],
    ['DATA', 552, '5.3.4 Too large', { ...rejected, reason: 'message_rejected', providerCode: '552 5.3.4' }],
    ['DATA', 554, '5.6.0 Spam', { ...rejected, reason: 'message_rejected', providerCode: '554 5.6.0' }],
    [
      'DATA',
      421,
      '4.3.2 Closing',
      {
        kind: 'unavailable',
        needsOperator: false,
        reason: 'provider_unavailable',
        providerCode: '421 4.3.2',
      },
    ],
  ];

  describe.each([
    ['with pipelining', false],
    ['without pipelining', true],
  ])('%s', (_what, hidePIPELINING) => {
    test.each(cases)(
      'of %s with %i %s is classified, and the next mail delivered',
      async (command, status, text, outcome) => {
        const refuse = (isRefused: boolean) => (isRefused ? refusal(status, text) : null);
        let isFirst = true;
        const server = await startServer({
          hidePIPELINING,
          onMailFrom: (_address, _session, done) => done(refuse(isFirst && command === 'MAIL')),
          onRcptTo: (_address, _session, done) => done(refuse(isFirst && command === 'RCPT')),
          onData: (stream, _session, done) => {
            stream.resume().on('end', () => done(refuse(isFirst && command === 'DATA')));
          },
        });
        const channel = openChannel(local(server));
        expect(await channel.send(message, alice, enough())).toEqual(outcome);
        isFirst = false;
        expect(await channel.send(message, alice, enough())).toEqual({ kind: 'delivered' });
      },
    );
  });

  test.each([
    ['554 5.3.2 No service', { ...operator, providerCode: '554 5.3.2' }],
    [
      '421 4.3.2 Later',
      { ...operator, needsOperator: false, reason: 'provider_unavailable', providerCode: '421 4.3.2' },
    ],
  ])('of the connection with %s pauses the provider', async (greeting, outcome) => {
    expect(await sendTo(local(await startBroken(greeting)))).toEqual(outcome);
  });
});

describe('a failure of the connection', () => {
  const waiting = { kind: 'unavailable', needsOperator: false, reason: 'provider_unavailable' };
  const lost = { kind: 'retry', reason: 'reply_lost' };

  test('pauses if the server refuses connections or its name does not resolve', async () => {
    const server = await startMailServer();
    await server.close();
    expect(await sendTo(local(server))).toEqual({ ...waiting, providerCode: 'ECONNREFUSED' });
    expect(await sendTo('smtp://mail.invalid', { timeouts: short })).toMatchObject(waiting);
  });

  test('pauses if the server sends no greeting or closes the connection', async () => {
    expect(await sendTo(local(await startBroken(null)), { timeouts: short })).toEqual({
      ...waiting,
      providerCode: 'ETIMEDOUT',
    });
    const closing = await startBroken('220 mail.test', (_line, socket) => socket.destroy());
    expect(await sendTo(local(closing))).toEqual({ ...waiting, providerCode: 'ECONNECTION' });
  });

  const stages: [stage: string, effect: string, outcome: object][] = [
    ['EHLO', 'pauses', waiting],
    ['MAIL', 'pauses', waiting],
    ['RCPT', 'pauses', waiting],
    ['DATA', 'pauses', waiting],
    ['.', 'loses the reply', lost],
  ];
  const failures: [what: string, fail: (socket: Socket) => void][] = [
    ['resets the connection', (socket) => void socket.resetAndDestroy()],
    ['closes the connection', (socket) => void socket.destroy()],
    ['closes its side of the connection', (socket) => void socket.end()],
  ];
  const silences: ((socket: Socket) => void)[] = [() => undefined, (socket) => void socket.write('250-')];

  test('pauses, or loses the reply to the final dot, if the server sends no reply or a part of one', async () => {
    const sending = stages.flatMap(([stage, _effect, outcome]) =>
      silences.map(async (fail) => {
        const server = await startBroken('220 mail.test', acceptExcept({ [stage]: fail }));
        return { sent: await sendTo(local(server), { timeouts: short }), outcome };
      }),
    );
    for (const { sent, outcome } of await Promise.all(sending)) expect(sent).toMatchObject(outcome);
  });

  describe.each(stages)('after %s %s', (stage, _effect, outcome) => {
    test.each(failures)('if the server %s', async (_what, fail) => {
      const server = await startBroken('220 mail.test', acceptExcept({ [stage]: fail }));
      expect(await sendTo(local(server), { timeouts: short })).toMatchObject(outcome);
    });

    test('if the time for the attempt is over', async () => {
      const abort = new AbortController();
      const server = await startBroken('220 mail.test', acceptExcept({ [stage]: () => abort.abort() }));
      const sending = openChannel(local(server)).send(message, alice, abort.signal);
      expect(await sending).toEqual({ ...outcome, providerCode: 'EABORT' });
    });
  });

  test('sends nothing if the time was over before', async () => {
    const server = await startServer();
    expect(await openChannel(local(server)).send(message, alice, AbortSignal.abort())).toEqual({
      ...waiting,
      providerCode: 'EABORT',
    });
    expect(server.connections).toBe(0);
  });
});

describe('the pool', () => {
  test('uses at most five connections, and uses them again', async () => {
    const server = await startServer();
    const channel = openChannel(local(server));
    expect(channel.concurrency).toBe(5);
    const ids = Array.from({ length: 40 }, (_, index) => `notification-${index}`);
    await Promise.all(
      ids.map((notificationId) => channel.send({ ...message, notificationId }, alice, enough())),
    );
    expect(server.mails).toHaveLength(40);
    expect(server.connections).toBe(5);
  });

  test('connects again if the server closed an idle connection, and sends the mail once', async () => {
    let accepted = 0;
    const isAccepted = (socket: Socket) => {
      accepted += 1;
      // The client notices when it sends the next mail.
      socket.write('250 2.0.0 OK\r\n', () => socket.removeAllListeners('data').resume());
      socket.once('data', () => socket.destroy());
    };
    const server = await startBroken('220 mail.test', acceptExcept({ '.': isAccepted }));
    const channel = openChannel(local(server), { timeouts: short });
    expect(await channel.send(message, alice, enough())).toEqual({ kind: 'delivered' });
    expect(await channel.send(message, alice, enough())).toEqual({ kind: 'delivered' });
    expect(accepted).toBe(2);
  });

  test('is closed with its idle connections, and then sends nothing', async () => {
    let open = 0;
    const server = await startServer({
      onConnect: (_session, done) => {
        open += 1;
        done();
      },
      onClose: () => {
        open -= 1;
      },
    });
    const channel = openChannel(local(server));
    await channel.send(message, alice, enough());
    expect(open).toBe(1);
    await channel.close();
    await eventually(() => expect(open).toBe(0));
    expect(await channel.send(message, alice, enough())).toMatchObject({ kind: 'unavailable' });
    expect(server.mails).toHaveLength(1);
  });
});
