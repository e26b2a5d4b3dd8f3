import { createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { CompactEncrypt, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createUnsubscribeTokens } from '../../src/delivery/email/unsubscribe-token.ts';
import { awaitOpen, recordedBody, sendHook } from '../support/agents.ts';
import {
  type AnsweringGateway,
  decide,
  findLink,
  openLink,
  publishByMail,
  sendForm,
  startAnsweringGateway,
} from '../support/answer-page.ts';
import { putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { deleteUser, payloads, publish } from '../support/records.ts';
import { readNotification } from '../support/requests.ts';
import { member } from '../support/tokens.ts';

/* Each row is an attack by a link in a mail on an open request, which must stay open. */

const key = randomBytes(32);
const keys = new Map([['k1', createSecretKey(key)]]);
const derived = (purpose: string, from = key) => new Uint8Array(hkdfSync('sha256', from, '', purpose, 32));

let gateway: AnsweringGateway;
/** Gateways of the same database and key, whose operator has changed `ANSWER_LINKS`. */
let off: TestGateway;
let questions: TestGateway;
beforeAll(async () => {
  const settings = {
    ENCRYPTION_KEYS: `k1:${key.toString('base64')}`,
    CORS_ORIGINS: 'https://app.example.com',
  };
  gateway = await startAnsweringGateway(settings);
  const start = (ANSWER_LINKS: string) =>
    startTestGateway(
      { ...settings, ANSWER_LINKS, PUBLIC_URL: gateway.address, DELIVERY: 'false' },
      gateway.database,
    );
  [off, questions] = await Promise.all([start('off'), start('questions')]);
});
afterAll(async () => {
  await Promise.all([off.close(), questions.close()]);
  await gateway.close();
});

type Target = { userId: string; id: string; link: string };
type Attack = (target: Target) => Promise<unknown>;

let targets = 0;
async function createTarget(): Promise<Target> {
  targets += 1;
  const userId = `user-${targets}`;
  return { userId, ...(await publishByMail(gateway, userId)) };
}

const isOpen = async ({ userId, id }: Target) =>
  (await readNotification(gateway, userId, id))?.request.state === 'OPEN';

/** Runs an attack, and expects that the request stays open, and that its own link then still works unless it is void. */
async function expectHarmless(attack: Attack): Promise<Target> {
  const target = await createTarget();
  await attack(target);
  expect(await isOpen(target)).toBe(true);
  return target;
}

const tokenOf = ({ link }: { link: string }) => link.split('/').at(-1) ?? '';
const withToken = ({ link }: { link: string }, token: string) => link.replace(/[^/]*$/, token);

/** Expects that a token neither shows nor approves anything, and does not say why. */
async function expectInvalid(target: Target, token: string): Promise<void> {
  const link = withToken(target, token);
  for (const { status, page } of [await openLink(link), await sendForm(link, decide.approve)]) {
    expect(status).toBe(404);
    expect(page).not.toContain('A title');
  }
}

const WEEK_MS = 7 * 86_400_000;

describe('a forged token', () => {
  const content = ({ userId, id }: Target, other = {}) => {
    return { userId, id, bound: 'x'.repeat(43), expiresAt: Date.now() + WEEK_MS, ...other };
  };
  type Encryption = { with?: Uint8Array; header?: object; kid?: string };
  const encrypt = (
    claims: object,
    { with: using = derived('answer link'), header = { purpose: 'answer' }, kid = 'k1' }: Encryption = {},
  ) =>
    new CompactEncrypt(new TextEncoder().encode(JSON.stringify(claims)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid, ...header })
      .encrypt(using);
  const sign = (claims: JWTPayload) => new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key);
  /** Replaces the last character by one that decodes to the same bytes. */
  const changeLastBits = (token: string) => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    return token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1) ?? '') + 1];
  };
  const foreign = derived('answer link', randomBytes(32));
  const unsubscribe = derived('unsubscribe token');

  test.each<[what: string, forge: (target: Target) => string | Promise<string>]>([
    ['is empty', () => ''],
    ['is cut', (target) => tokenOf(target).slice(0, -2)],
    ['has padding', (target) => `${tokenOf(target)}=`],
    ['has another last character for the same bytes', (target) => changeLastBits(tokenOf(target))],
    ['has another part', (target) => `${tokenOf(target)}.`],
    ['is percent-encoded', (target) => tokenOf(target).replace('.', '%2E')],
    ['has 10,000 more characters', (target) => tokenOf(target) + 'A'.repeat(10_000)],
    ['is of no content that was shown', (target) => encrypt(content(target))],
    ['has the key of another gateway', (target) => encrypt(content(target), { with: foreign })],
    ['has the key of what is stored', (target) => encrypt(content(target), { with: key })],
    ['has the key of unsubscribe links', (target) => encrypt(content(target), { with: unsubscribe })],
    ['has another purpose', (target) => encrypt(content(target), { header: { purpose: 'unsubscribe' } })],
    ['has an unknown key ID', (target) => encrypt(content(target), { kid: 'k2' })],
    ['lacks an expiry', (target) => encrypt(content(target, { expiresAt: undefined }))],
    ['unsubscribes', ({ userId }) => createUnsubscribeTokens(keys).sign({ userId, kind: 'plan_requested' })],
    ["is the user's token of the API", ({ userId }) => member(userId)],
    ['is not encrypted', (target) => new UnsecuredJWT(content(target)).encode()],
    ['is signed with the key', (target) => sign(content(target))],
  ])('that %s is refused', async (_what, forge) => {
    await expectHarmless(async (target) => expectInvalid(target, await forge(target)));
  });

  test('with any changed character is refused', async () => {
    await expectHarmless(async (target) => {
      const token = tokenOf(target);
      for (let index = 0; index < token.length; index += 7) {
        const other = token[index] === 'A' ? 'B' : 'A';
        await expectInvalid(target, token.slice(0, index) + other + token.slice(index + 1));
      }
    });
  });
});

describe('a link is void', () => {
  const { input } = payloads.plan_requested.planRequested;
  const republish =
    (plan: string) =>
    async ({ userId, id }: Target) => {
      await deleteUser(gateway, userId);
      await putContact(gateway, userId, { email: `${userId}@example.com` });
      const payload = { planRequested: { toolId: 'tool-1', input: { ...input, plan } } };
      await publish(gateway, userId, 'plan_requested', { id, payload });
    };
  const change = async ({ userId }: Target, ...emails: (string | undefined)[]) => {
    for (const email of emails) await putContact(gateway, userId, email === undefined ? {} : { email });
  };
  const other = 'other@example.com';
  const addressOf = ({ userId }: Target) => `${userId}@example.com`;

  test.each<[when: string, attack: Attack]>([
    ['after its ID was published again with another plan', republish('2. Do more')],
    ['after its ID was published again with the same plan', republish(input.plan)],
    ['after the address has changed', (target) => change(target, other)],
    ['after the address was removed', (target) => change(target, undefined)],
    ['after the same address was put again', (target) => change(target, addressOf(target))],
    ['after the address has changed twice', (target) => change(target, other, addressOf(target))],
  ])('%s', async (_when, attack) => {
    const target = await expectHarmless(attack);
    await expectInvalid(target, tokenOf(target));
    expect(await isOpen(target)).toBe(true);
  });

  test('after its user was deleted', async () => {
    const target = await createTarget();
    await deleteUser(gateway, target.userId);
    await expectInvalid(target, tokenOf(target));
  });

  test.each([
    ['off', () => off],
    ['questions', () => questions],
  ])('with ANSWER_LINKS=%s', async (_value, other) => {
    const target = await createTarget();
    const path = `${other().address}/answer/${tokenOf(target)}`;
    expect((await openLink(path)).status).toBe(404);
    expect((await sendForm(path, decide.approve, { Origin: gateway.address })).status).toBe(404);
    expect(await isOpen(target)).toBe(true);
  });

  test('with ANSWER_LINKS=questions, if it is about a permission request', async () => {
    const userId = 'permits';
    await putContact(gateway, userId, { email: `${userId}@example.com` });
    const repeated = { userId, call: 'call-1', wait: '0' };
    await sendHook(gateway, recordedBody('claude', 'Bash'), repeated);
    const [{ id }] = await awaitOpen(gateway, userId);
    const target = { userId, id, link: await eventually(() => findLink(gateway, userId)) };
    expect((await openLink(target.link)).page).toContain('Allow Bash?');
    const path = `${questions.address}/answer/${tokenOf(target)}`;
    expect((await openLink(path)).status).toBe(404);
    const allowOnce = { 'choice-0': '0' };
    expect((await sendForm(path, allowOnce, { Origin: gateway.address })).status).toBe(404);
    expect(await isOpen(target)).toBe(true);
  });

  test('after seven days', async () => {
    const target = await createTarget();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + WEEK_MS + 1000 });
    await expectInvalid(target, tokenOf(target)).finally(() => vi.useRealTimers());
    expect((await openLink(target.link)).status).toBe(200);
  });
});

describe('a scanner, or a page of another site, changes nothing', () => {
  const approve = new URLSearchParams(decide.approve).toString();
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  /** A form of the page, unless other headers are given. */
  const post = (body: RequestInit['body'] = approve, headers: Record<string, string> = {}) => ({
    method: 'POST',
    headers: { ...form, Origin: gateway.address, ...headers },
    body,
  });
  const from = (Origin: string) => post(approve, { Origin });
  const ofType = (type: string, body = approve) => post(body, { 'Content-Type': type });
  const stream = () => new Blob(['x'.repeat(200_000)]).stream();
  const part = '--x\r\nContent-Disposition: form-data; name="choice-0"\r\n\r\n0\r\n--x--';

  test.each<[what: string, send: () => RequestInit, status: number]>([
    ['GET', () => ({}), 200],
    ['HEAD', () => ({ method: 'HEAD' }), 200],
    ['OPTIONS', () => ({ method: 'OPTIONS' }), 404],
    ['PUT', () => ({ ...post(), method: 'PUT' }), 404],
    ['GET with another method in a header', () => ({ headers: { 'X-HTTP-Method-Override': 'POST' } }), 200],
    ['POST without a body', () => post(null), 422],
    ['POST of the form as it is, with its button', () => post('text-0='), 422],
    ['POST of every button', () => post('choice-0=0&choice-0=1&choice-0=2&text-0=x'), 422],
    ['POST of an unknown decision', () => post('choice-0=3'), 422],
    ['POST of a decision by name', () => post('choice-0=approve&decision=approve'), 422],
    ['POST without an origin', () => ({ ...post(), headers: form }), 400],
    ['POST of the origin null', () => from('null'), 400],
    ['POST of another site', () => from('https://evil.example'), 400],
    ['POST of a site that may call the API', () => from('https://app.example.com'), 400],
    ['POST of a similar site', () => from(`${gateway.address}.evil.example`), 400],
    ['POST of another port', () => from('http://127.0.0.1'), 400],
    ['POST with another scheme', () => from(gateway.address.replace('http', 'https')), 400],
    ['POST of a referrer only', () => ({ ...post(), headers: { ...form, Referer: gateway.address } }), 400],
    ['POST of JSON', () => ofType('application/json', '{"choice-0":"0"}'), 400],
    ['POST of a similar type', () => ofType('application/x-www-form-urlencoded2'), 400],
    ['POST of several parts', () => ofType('multipart/form-data; boundary=x', part), 400],
    ['POST of a compressed form', () => post(gzipSync(approve), { 'Content-Encoding': 'gzip' }), 400],
    ['POST of more than 128 KiB', () => post(`${approve}&text-0=${'x'.repeat(131_072)}`), 400],
    ['POST of more than 128 KiB without a length', () => ({ ...post(stream()), duplex: 'half' }), 400],
    ['POST to the link with a query', () => post('text-0=x'), 422],
  ])('%s', async (what, send, status) => {
    const target = await expectHarmless(async ({ link }) => {
      const reply = await openLink(what.endsWith('with a query') ? `${link}?${approve}` : link, send());
      expect(reply.status).toBe(status);
      if (status === 404) return;
      expect(Object.fromEntries(reply.headers)).toMatchObject({
        'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
      });
    });
    // The user can still decide.
    expect((await sendForm(target.link, decide.reject)).status).toBe(200);
  });

  test('too many requests with one link are refused', async () => {
    const limited = await startAnsweringGateway({ RATE_LIMIT_READS_PER_MINUTE: '3' });
    onTestFinished(() => limited.close());
    const { link } = await publishByMail(limited, 'alice');
    for (let count = 0; count < 10; count += 1) await openLink(link);
    expect((await openLink(link)).status).toBe(429);
    expect((await sendForm(link, decide.approve)).status).toBe(429);
  });
});

test('what the task sent becomes no markup, link of the page or header', async () => {
  const bad = `"'><script>alert(1)</script><img src=x onerror=alert(1)><form action=//evil.example>\u202e</textarea></title>`;
  const options = [{ label: bad, description: bad, preview: bad }];
  const input = { questions: [{ question: bad, header: bad, options }], [bad]: bad };
  const { link } = await publishByMail(gateway, 'markup', 'question_requested', {
    title: bad.replace('\u202e', ''),
    projectName: bad,
    task: { id: bad, projectId: 'p', name: bad },
    onExpiry: { questions: [{ index: 0, options: [], other: bad }] },
    expiresInSeconds: 3600,
    payload: { questionRequested: { toolId: 't', input } },
  });
  const { page } = await openLink(link);
  const tags = new Set(page.match(/<\/?[a-z0-9]+/g));
  expect([...tags].filter((tag) => /script|img|form/.test(tag))).toEqual(['<form', '</form']);
  expect(page.match(/<form[^>]*>/g)).toEqual(['<form method="post">']);
  expect(page).not.toContain('\u202e');
  const { headers } = await openLink(link, {
    headers: { 'X-Forwarded-Host': 'evil.example', 'Accept-Language': 'de\tx;q=,*' },
  });
  expect([...headers.values()].join()).not.toContain('evil.example');
  expect(findLink(gateway, 'markup')).toBe(link);
});

test('no attack was logged with a token', () => {
  const text = gateway.logLines().join('\n');
  expect(text).toContain('"path":"/answer/{token}"');
  expect(text).not.toMatch(/eyJhbGciOiJkaXIi/);
});
