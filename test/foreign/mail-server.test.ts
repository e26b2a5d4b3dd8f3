import { createSecretKey, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Channel } from '../../src/delivery/channel.ts';
import { createEmailChannel } from '../../src/delivery/email/email-channel.ts';
import type { Recipient } from '../../src/delivery/email/mail.ts';
import { createUnsubscribeTokens } from '../../src/delivery/email/unsubscribe-token.ts';
import type { Message } from '../../src/delivery/message.ts';
import { Secret } from '../../src/values/secret.ts';
import { message as plain } from '../delivery/message.ts';
import { createCertificate, trustCertificate } from '../support/certificate.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import type { Process } from '../support/process.ts';
import { hasPython, startPythonMailServer } from './tools.ts';

const tokens = createUnsubscribeTokens(new Map([['a', createSecretKey(randomBytes(32))]]));

const message: Message = {
  ...plain,
  title: 'Größe: "100 %" of <tests> failed — retry? 😀',
  details: '.\n..\n.\nFrom here\nÜ: 用户',
  projectName: null,
};

describe.skipIf(!hasPython)('the mail server of aiosmtpd', () => {
  let folder: string;
  let untrust: () => void = () => undefined;
  let server: Process;
  let port: string;
  const channels: Channel<Recipient>[] = [];

  beforeAll(async () => {
    folder = await makeFolder();
    const certificate = createCertificate('IP:0.0.0.0');
    const path = join(folder, 'certificate.pem');
    await writeFile(path, certificate.key + certificate.cert);
    untrust = trustCertificate(certificate);
    server = await startPythonMailServer(path);
    port = await server.waitForOutput(/^port (\d+)$/m);
  }, 300_000);
  afterAll(async () => {
    for (const channel of channels) await channel.close();
    await server?.stop();
    untrust();
    await removeFolder(folder);
  });

  /** The address 0.0.0.0 is not loopback, so TLS and a trusted certificate are required. */
  function openChannel(password: string): Channel<Recipient> {
    const url = new Secret(`smtp://gateway:${password}@0.0.0.0:${port}`);
    const from = { name: 'Büro, "Workspaces"', address: 'no-reply@example.com' };
    const options = { publicUrl: 'https://gateway.example.com', tokens };
    const channel = createEmailChannel({ url, from, delaySeconds: 0 }, options);
    channels.push(channel);
    return channel;
  }

  const sendTo = (channel: Channel<Recipient>, address: string, changes: Partial<Message> = {}) =>
    channel.send({ ...message, ...changes }, { address }, AbortSignal.timeout(20_000));

  test('receives a mail that Python parses without defects, over STARTTLS and with a password', async () => {
    expect(await sendTo(openChannel('secret'), 'alice@example.org')).toEqual({ kind: 'delivered' });
    const mail = JSON.parse(await server.waitForOutput(/^(\{.*"alice@example\.org".*\})$/m));
    const link = `https://gateway.example.com/unsubscribe/${tokens.sign(message)}`;
    expect(mail).toMatchObject({
      from: 'no-reply@example.com',
      to: 'alice@example.org',
      tls: true,
      defects: [],
      headers: {
        From: '"Büro, \\"Workspaces\\"" <no-reply@example.com>',
        To: 'alice@example.org',
        Subject: message.title,
        'Auto-Submitted': 'auto-generated',
        'List-Unsubscribe': `<${link}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      },
    });
    expect(mail.text).toContain(`\n\n${message.details}\n\nTask: Login\nTime: 2026-05-04 10:00 UTC\n\n`);
    expect(mail.html).toContain(`>${message.details}</blockquote>`);
    expect(mail.html).toContain('of &lt;tests&gt; failed');
  });

  test.each([
    [
      'unknown',
      { kind: 'failed', suspendTarget: true, reason: 'recipient_rejected', providerCode: '550 5.1.1' },
    ],
    ['spam', { kind: 'retry', reason: 'provider_refused', providerCode: '554 5.7.1' }],
  ])('refuses a mail to %s, and accepts a later one over the same connection', async (name, outcome) => {
    const channel = openChannel('secret');
    const findConnection = (recipient: string) =>
      server.waitForOutput(new RegExp(`^${recipient}@example\\.org over port (\\d+)$`, 'm'));
    expect(await sendTo(channel, `${name}@example.org`)).toEqual(outcome);
    // While the connection is reset, the next mail opens another.
    expect(await sendTo(channel, `during-${name}@example.org`)).toEqual({ kind: 'delivered' });
    expect(await sendTo(channel, `after-${name}@example.org`)).toEqual({ kind: 'delivered' });
    await server.waitForOutput(new RegExp(`^\\{.*"(after-${name}@example\\.org)".*\\}$`, 'm'));
    expect(await findConnection(`after-${name}`)).toBe(await findConnection(name));
  });

  test('needs an operator if the password is wrong or the certificate is not trusted', async () => {
    const refused = { kind: 'unavailable', needsOperator: true, reason: 'provider_refused' };
    expect(await sendTo(openChannel('wrong'), 'bob@example.org')).toEqual({
      ...refused,
      providerCode: '535 5.7.8',
    });
    untrust();
    expect(await sendTo(openChannel('secret'), 'bob@example.org')).toMatchObject(refused);
    expect(server.stdout()).not.toContain('bob@example.org');
  });
});
