import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  createUnsubscribeTokens,
  type EmailTopic,
  toUnsubscribeUrl,
} from '../../src/delivery/email/unsubscribe-token.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { asMember, asPlatform, deleteUser, publish } from '../support/records.ts';

const createKey = () => randomBytes(32);
const keysOf = (...keys: readonly Buffer[]): ReadonlyMap<string, KeyObject> =>
  new Map(keys.map((key, index) => [`k${index}`, createSecretKey(key)]));
const failedTasks: EmailTopic = { userId: 'alice', kind: 'task_failed' };

describe('a token', () => {
  const [first, second, third] = [createKey(), createKey(), createKey()];
  const tokens = createUnsubscribeTokens(keysOf(first, second));

  test.each(['alice', 'a:b', 'ein Ünïcode 用户 😀', '../..', '__proto__', 'x'.repeat(255)])(
    'contains user and kind, in characters that need no encoding: %s',
    (userId) => {
      const token = tokens.sign({ userId, kind: 'task_failed' });
      expect(token).toMatch(/^[\w-]+$/);
      expect(tokens.verify(token)).toEqual({ userId, kind: 'task_failed' });
      expect(tokens.sign({ userId, kind: 'task_failed' })).toBe(token);
    },
  );

  test('is signed with the first key and verified with all', () => {
    const old = createUnsubscribeTokens(keysOf(second)).sign(failedTasks);
    const unknown = createUnsubscribeTokens(keysOf(third)).sign(failedTasks);
    expect(tokens.verify(old)).toEqual(failedTasks);
    expect(tokens.verify(unknown)).toBeUndefined();
    expect(createUnsubscribeTokens(keysOf(first)).verify(tokens.sign(failedTasks))).toEqual(failedTasks);
    expect(createUnsubscribeTokens(keysOf(second)).verify(tokens.sign(failedTasks))).toBeUndefined();
  });

  test('is rejected after any change of a character', () => {
    const token = tokens.sign(failedTasks);
    for (const index of token.split('').keys()) {
      const other = token[index] === 'A' ? 'B' : 'A';
      expect(tokens.verify(token.slice(0, index) + other + token.slice(index + 1))).toBeUndefined();
    }
  });

  test('is rejected in any other form', () => {
    const token = tokens.sign(failedTasks);
    const bytes = Buffer.from(token, 'base64url');
    const others = ['', 'A', token.slice(0, 43), token.slice(0, -1), `${token}A`, `${token}=`, ` ${token}`];
    for (const other of [
      ...others,
      `${token}\n`,
      bytes.toString('base64'),
      `${token}%00`,
      'A'.repeat(100_000),
    ])
      expect(tokens.verify(other)).toBeUndefined();
  });
});

describe('the links', () => {
  const key = createKey();
  const tokens = createUnsubscribeTokens(keysOf(key));
  let gateway: TestGateway;
  beforeAll(async () => {
    // Without SMTP_URL: the links of mails that were sent before still work.
    gateway = await startTestGateway({ ENCRYPTION_KEYS: `k0:${key.toString('base64')}` });
    await publish(gateway, 'alice');
  });
  afterAll(() => gateway.close());

  const linkTo = (topic: EmailTopic) => toUnsubscribeUrl(gateway.address, tokens.sign(topic));

  async function listPreferences(userId: string) {
    const query =
      '{ notificationPreferences { notificationKind emailEnabled pushEnabled chatDmEnabled updatedAt } }';
    const { notificationPreferences } = await asMember(gateway, userId, query);
    return notificationPreferences;
  }

  /** What a mailbox provider sends (RFC 8058, section 3.2). */
  const pressOneClick = (link: string) =>
    fetch(link, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
      redirect: 'error',
    });

  test('GET and HEAD show a page with a button and change nothing', async () => {
    await publish(gateway, 'reader');
    const before = await listPreferences('reader');
    const response = await fetch(linkTo({ userId: 'reader', kind: 'task_failed' }));
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(page).toContain('<h1>Stop email about failed tasks?</h1>');
    expect(page).toContain('<form method="post"><button>');
    expect(page).not.toContain('reader');
    const head = await fetch(linkTo({ userId: 'reader', kind: 'task_failed' }), { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(await listPreferences('reader')).toEqual(before);
  });

  test('POST turns off email for the kind, and nothing else', async () => {
    await asMember(
      gateway,
      'alice',
      `mutation { updateNotificationPreferences(input: { preferences: [
        { notificationKind: TASK_FAILED, emailEnabled: true, pushEnabled: false, chatDmEnabled: true }
      ] }) { preferences { notificationKind } } }`,
    );
    const before = await listPreferences('alice');
    const response = await pressOneClick(linkTo(failedTasks));
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining('<h1>Email about failed tasks is off</h1>'),
    ]);
    const expected = before.map((preference: { notificationKind: string }) =>
      preference.notificationKind === 'TASK_FAILED'
        ? { ...preference, emailEnabled: false, updatedAt: expect.any(String) }
        : preference,
    );
    const after = await listPreferences('alice');
    expect(after).toEqual(expected);

    // Repeating it changes nothing.
    expect((await pressOneClick(linkTo(failedTasks))).status).toBe(200);
    expect(await listPreferences('alice')).toEqual(after);
  });

  test('POST stores a preference of a user who has none, with the other channels enabled', async () => {
    await publish(gateway, 'new');
    expect((await pressOneClick(linkTo({ userId: 'new', kind: 'plan_requested' }))).status).toBe(200);
    const preferences = await listPreferences('new');
    const channels = { pushEnabled: true, chatDmEnabled: true };
    expect(preferences[0]).toMatchObject({
      notificationKind: 'PLAN_REQUESTED',
      emailEnabled: false,
      ...channels,
    });
    for (const preference of preferences.slice(1))
      expect(preference).toMatchObject({ emailEnabled: true, ...channels, updatedAt: null });
  });

  test.each<[what: string, headers: Record<string, string>, body?: string]>([
    ['no body', {}],
    ['a body that is not JSON', { 'Content-Type': 'application/json' }, '{'],
    ['the form of a mail program', { 'Content-Type': 'multipart/form-data; boundary=x' }, '--x--'],
    ['a large body', {}, 'x'.repeat(2_000_000)],
    ['an invalid token of the API', { Authorization: 'Bearer none' }],
  ])('POST turns off email whatever the request contains: %s', async (what, headers, body) => {
    await publish(gateway, what);
    const link = linkTo({ userId: what, kind: 'task_failed' });
    const response = await fetch(link, { method: 'POST', headers, ...(body !== undefined && { body }) });
    expect(response.status).toBe(200);
    expect(await listPreferences(what)).toContainEqual(
      expect.objectContaining({ notificationKind: 'TASK_FAILED', emailEnabled: false }),
    );
  });

  test('concurrent presses of links of one user all succeed', async () => {
    await publish(gateway, 'carol');
    const kinds = ['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'] as const;
    const links = [...kinds, ...kinds, ...kinds].map((kind) => linkTo({ userId: 'carol', kind }));
    const replies = await Promise.all(links.map(pressOneClick));
    expect(replies.map(({ status }) => status)).toEqual(links.map(() => 200));
    for (const preference of await listPreferences('carol'))
      expect(preference).toMatchObject({ emailEnabled: false, pushEnabled: true });
  });

  test.each(['GET', 'POST'])('%s returns 404 for an unknown token', async (method) => {
    const token = createUnsubscribeTokens(keysOf(createKey())).sign(failedTasks);
    for (const path of [token, '', 'x', `${tokens.sign(failedTasks)}=`]) {
      const response = await fetch(`${gateway.address}/unsubscribe/${path}`, { method });
      expect([response.status, response.headers.get('content-type')]).toEqual([
        404,
        'text/html; charset=utf-8',
      ]);
      expect(await response.text()).toContain('<h1>This link is not valid</h1>');
    }
  });

  test.each(['GET', 'POST'])('%s returns 404 for a deleted user, and stores nothing', async (method) => {
    await publish(gateway, 'dora');
    const link = linkTo({ userId: 'dora', kind: 'task_failed' });
    expect((await fetch(link)).status).toBe(200);
    await deleteUser(gateway, 'dora');
    expect((await fetch(link, { method })).status).toBe(404);
    const { sql } = gateway.database;
    expect(await sql("select from notification_preference where user_id = 'dora'")).toEqual([]);
    expect(await sql("select from user_revision where user_id = 'dora'")).toEqual([]);
  });

  test.each(['PUT', 'DELETE', 'OPTIONS'])('%s returns 404', async (method) => {
    expect((await fetch(linkTo(failedTasks), { method })).status).toBe(404);
  });

  test('the pages are neither cached nor indexed, and their form may post to this origin only', async () => {
    const unknown = `${gateway.address}/unsubscribe/x`;
    for (const [link, method] of [[linkTo(failedTasks)], [linkTo(failedTasks), 'POST'], [unknown]] as const) {
      const { headers } = await fetch(link, { method: method ?? 'GET' });
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-robots-tag')).toBe('noindex');
      expect(headers.get('referrer-policy')).toBe('same-origin');
      expect(headers.get('content-security-policy')).toContain("form-action 'self'");
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  test('the token is not logged, and metrics name the path by its template', async () => {
    const link = linkTo(failedTasks);
    const { pathname } = new URL(link);
    const token = pathname.split('/').at(-1) ?? '';
    for (const path of [
      pathname,
      `${pathname}/`,
      `/Unsubscribe/${token}`,
      `/unsubscribe/x/${token}?a=${token}`,
    ])
      await (await fetch(`${gateway.address}${path}`)).text();
    const { headers } = await fetch(link, { method: 'POST' });
    const lines = gateway.logLines();
    expect(lines.filter((line) => line.includes(token))).toEqual([]);
    const line = lines.find((line) => line.includes(headers.get('x-request-id') ?? ''));
    expect(JSON.parse(line ?? '')).toMatchObject({
      method: 'POST',
      path: '/unsubscribe/{token}',
      status: 200,
    });
    const metrics = await (await fetch(`${gateway.address}/metrics`)).text();
    expect(metrics).toContain('route="/unsubscribe/{token}"');
    expect(metrics).not.toContain(token);
  });
});

describe('with email configured', () => {
  const settings = (server: MailServer, delaySeconds: number) => ({
    SMTP_URL: `smtp://127.0.0.1:${server.port}`,
    SMTP_FROM: 'Workspaces <no-reply@example.com>',
    DELIVERY_EMAIL_DELAY_SECONDS: String(delaySeconds),
    PUBLIC_URL: 'https://gateway.example.com',
  });
  let server: MailServer;
  beforeAll(async () => {
    server = await startMailServer();
  });
  afterAll(() => server.close());

  const putContact = (gateway: TestGateway, userId: string) =>
    asPlatform(gateway, 'mutation ($input: PutContactInput!) { putContact(input: $input) { __typename } }', {
      input: { userId, email: `${userId}@example.org` },
    });

  async function listDeliveries(gateway: TestGateway, userId: string, notificationId: string) {
    const query = 'query ($id: ID!) { deliveries(notificationId: $id) { channel state reason } }';
    const { deliveries } = await asMember(gateway, userId, query, { id: notificationId });
    return deliveries.filter(({ state }: { state: string }) => state !== 'SKIPPED');
  }

  test('the link in the header of a mail stops further mail of the kind', async () => {
    const gateway = await startTestGateway(settings(server, 0));
    onTestFinished(() => gateway.close());
    await putContact(gateway, 'alice');
    const first = await publish(gateway, 'alice', 'task_failed', { title: 'The first' });
    const mail = await eventually(() => {
      const [found] = server.mails;
      if (found === undefined) throw new Error('No mail arrived yet.');
      return found;
    });
    expect(mail.to).toEqual(['alice@example.org']);
    expect(mail.parsed.subject).toBe('The first');
    const [, path] = /^List-Unsubscribe:\s+<https:\/\/gateway\.example\.com(\/\S+)>/m.exec(mail.source) ?? [];

    const reply = await fetch(`${gateway.address}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    });
    expect(reply.status).toBe(200);
    const second = await publish(gateway, 'alice', 'task_failed');
    const other = await publish(gateway, 'alice', 'plan_requested', { title: 'Another kind' });
    for (const { id } of [first, other]) {
      await eventually(async () =>
        expect(await listDeliveries(gateway, 'alice', id)).toMatchObject([{ state: 'DELIVERED' }]),
      );
    }
    expect(await listDeliveries(gateway, 'alice', second.id)).toEqual([]);
    expect(server.mails.map(({ parsed }) => parsed.subject)).toEqual(['The first', 'Another kind']);
  });

  test('mail of the kind that is not sent yet is cancelled', async () => {
    const key = createKey();
    const gateway = await startTestGateway({
      ...settings(server, 3600),
      ENCRYPTION_KEYS: `k0:${key.toString('base64')}`,
    });
    onTestFinished(() => gateway.close());
    await putContact(gateway, 'bob');
    const failed = await publish(gateway, 'bob', 'task_failed');
    const plan = await publish(gateway, 'bob', 'plan_requested');
    const token = createUnsubscribeTokens(keysOf(key)).sign({ userId: 'bob', kind: 'task_failed' });

    await fetch(toUnsubscribeUrl(gateway.address, token), { method: 'POST' });

    const pending = { channel: 'EMAIL', state: 'PENDING', reason: null };
    const cancelled = { channel: 'EMAIL', state: 'CANCELLED', reason: 'CHANNEL_DISABLED' };
    await eventually(async () =>
      expect(await listDeliveries(gateway, 'bob', failed.id)).toEqual([cancelled]),
    );
    expect(await listDeliveries(gateway, 'bob', plan.id)).toEqual([pending]);
  });
});
