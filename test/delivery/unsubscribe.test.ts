import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createUnsubscribeTokens,
  type EmailTopic,
  toUnsubscribeUrl,
} from '../../src/delivery/email/unsubscribe-token.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { deleteUser, publish } from '../support/records.ts';

/*
 * outbox.test.ts tests that a press of the link cancels the emails that wait, and docs/delivery-page.test.ts that it stops
 * further ones.
 */

const createKey = () => randomBytes(32);
const keysOf = (...keys: readonly Buffer[]): ReadonlyMap<string, KeyObject> =>
  new Map(keys.map((key, index) => [`k${index}`, createSecretKey(key)]));
const failedTasks: EmailTopic = { userId: 'alice', kind: 'task_failed' };

describe('a token', () => {
  const [first, second, third] = [createKey(), createKey(), createKey()];
  const tokens = createUnsubscribeTokens(keysOf(first, second));
  const token = tokens.sign(failedTasks);

  test.each(['alice', 'a:b', 'ein Ünïcode 用户 😀', 'x'.repeat(255)])(
    'contains user and kind, in characters that need no encoding: %s',
    (userId) => {
      const token = tokens.sign({ userId, kind: 'task_failed' });
      expect(token).toMatch(/^[\w-]+$/);
      expect(tokens.verify(token)).toEqual({ userId, kind: 'task_failed' });
      expect(tokens.sign({ userId, kind: 'task_failed' })).toBe(token);
    },
  );

  test('is signed with the first key and verified with all', () => {
    const [old, unknown] = [second, third].map((key) => createUnsubscribeTokens(keysOf(key)));
    expect(tokens.verify(old?.sign(failedTasks) ?? '')).toEqual(failedTasks);
    expect(tokens.verify(unknown?.sign(failedTasks) ?? '')).toBeUndefined();
    expect(createUnsubscribeTokens(keysOf(first)).verify(token)).toEqual(failedTasks);
    expect(old?.verify(token)).toBeUndefined();
  });

  test('is rejected after any change of a character, and in any other form', () => {
    const changed = Array.from(
      token,
      (character, index) => token.slice(0, index) + (character === 'A' ? 'B' : 'A') + token.slice(index + 1),
    );
    const base64 = Buffer.from(token, 'base64url').toString('base64');
    const cut = [token.slice(0, 43), token.slice(0, -1), base64, 'A', 'A'.repeat(100_000), ''];
    const extended = ['A', '=', '\n', '%00'].map((suffix) => token + suffix);
    for (const other of [...changed, ...cut, ...extended, ` ${token}`])
      expect(tokens.verify(other), other).toBeUndefined();
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
  const linkOf = (userId: string) => linkTo({ userId, kind: 'task_failed' });

  /** Returns the preferences of a user, by kind. */
  async function readPreferences(userId: string): Promise<Record<string, object>> {
    const { body } = await gateway.as(userId).rest.get('/user/notification-preferences');
    return Object.fromEntries(
      body.preferences.map((preference: { notification_kind: string }) => [
        preference.notification_kind,
        preference,
      ]),
    );
  }

  test('GET shows a page with a button and changes nothing', async () => {
    await publish(gateway, 'reader');
    const before = await readPreferences('reader');
    const response = await fetch(linkOf('reader'));
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(page).toContain('<h1>Stop email about failed tasks?</h1>');
    expect(page).toContain('<form method="post"><button>');
    expect(page).not.toContain('reader');
    expect(await readPreferences('reader')).toEqual(before);
  });

  test('POST turns off email for the kind, and nothing else; a repeat changes nothing', async () => {
    const item = { notification_kind: 'task_failed', push_enabled: false };
    await gateway.as('alice').rest.patch('/user/notification-preferences', { preferences: [item] });
    const before = await readPreferences('alice');
    const response = await fetch(linkTo(failedTasks), { method: 'POST' });
    expect(await response.text()).toContain('<h1>Email about failed tasks is off</h1>');
    const after = await readPreferences('alice');
    const { task_failed } = before;
    const off = { ...task_failed, email_enabled: false, updated_at: expect.any(String) };
    expect(after).toEqual({ ...before, task_failed: off });

    expect((await fetch(linkTo(failedTasks), { method: 'POST' })).status).toBe(200);
    expect(await readPreferences('alice')).toEqual(after);
  });

  test.each<[what: string, headers: Record<string, string>, body?: string]>([
    [
      'one click (RFC 8058)',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      'List-Unsubscribe=One-Click',
    ],
    ['no body', {}],
    ['the form of a mail program', { 'Content-Type': 'multipart/form-data; boundary=x' }, '--x--'],
    ['a large body', { Authorization: 'Bearer none' }, 'x'.repeat(2_000_000)],
  ])('POST turns off email, also of a user without preferences: %s', async (what, headers, body) => {
    await publish(gateway, what);
    const { task_failed, ...others } = await readPreferences(what);
    const content = body === undefined ? {} : { body };
    const response = await fetch(linkOf(what), { method: 'POST', headers, redirect: 'error', ...content });
    expect(response.status).toBe(200);
    const off = { ...task_failed, email_enabled: false };
    expect(await readPreferences(what)).toMatchObject({ ...others, task_failed: off });
  });

  test.each(['GET', 'POST'])('%s returns 404 for an unknown token', async (method) => {
    const token = createUnsubscribeTokens(keysOf(createKey())).sign(failedTasks);
    for (const path of [token, '', `${tokens.sign(failedTasks)}=`]) {
      const response = await fetch(`${gateway.address}/unsubscribe/${path}`, { method });
      expect(response.status).toBe(404);
      expect(await response.text()).toContain('<h1>This link is not valid</h1>');
    }
  });

  test.each(['GET', 'POST'])('%s returns 404 for a deleted user, and stores nothing', async (method) => {
    await publish(gateway, 'dora');
    await deleteUser(gateway, 'dora');
    expect((await fetch(linkOf('dora'), { method })).status).toBe(404);
    for (const table of ['notification_preference', 'user_revision'])
      expect(await gateway.database.sql(`select from ${table} where user_id = 'dora'`)).toEqual([]);
  });

  test('the pages are neither cached nor indexed, and their form may post to this origin only', async () => {
    const unknown = `${gateway.address}/unsubscribe/x`;
    for (const [link, method] of [[linkTo(failedTasks)], [linkTo(failedTasks), 'POST'], [unknown]] as const) {
      const { headers } = await fetch(link, { method: method ?? 'GET' });
      expect(Object.fromEntries(headers)).toMatchObject({
        'cache-control': 'no-store',
        'x-robots-tag': 'noindex',
        'referrer-policy': 'same-origin',
        'content-security-policy': expect.stringMatching(/default-src 'none'.*form-action 'self'/),
      });
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  test('the token is not logged, and metrics name the path by its template', async () => {
    const { pathname } = new URL(linkTo(failedTasks));
    const token = pathname.split('/').at(-1) ?? '';
    const others = [`${pathname}/`, `/Unsubscribe/${token}`, `/unsubscribe/x/${token}?a=${token}`];
    for (const path of [pathname, ...others]) await fetch(`${gateway.address}${path}`);
    expect(gateway.logLines().filter((line) => line.includes(token))).toEqual([]);
    const metrics = await (await fetch(`${gateway.address}/metrics`)).text();
    expect(metrics).toContain('route="/unsubscribe/{token}"');
    expect(metrics).not.toContain(token);
  });
});
