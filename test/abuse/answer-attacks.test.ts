import { createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { CompactEncrypt, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createUnsubscribeTokens } from '../../src/delivery/email/unsubscribe-token.ts';
import {
  type AnsweringGateway,
  decide,
  findLink,
  openLink,
  publishByMail,
  sendForm,
  startAnsweringGateway,
} from '../support/answer-page.ts';
import type { ChatMessage } from '../support/chat-api.ts';
import { putContact } from '../support/delivery.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { deleteUser, payloads, publish } from '../support/records.ts';
import { listEvents, readNotification } from '../support/requests.ts';
import {
  click,
  createClick,
  createSubmission,
  type Forged,
  interact,
  lastModal,
  memberOf,
  publishInChat,
  type SlackGateway,
  startSlackGateway,
} from '../support/slack.ts';
import { member } from '../support/tokens.ts';

/* Each row is an attack on an open request, which must stay open. */

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

describe('a forged token', () => {
  const week = 7 * 86_400_000;
  const content = ({ userId, id }: Target, other = {}) => ({
    userId,
    id,
    bound: 'x'.repeat(43),
    expiresAt: Date.now() + week,
    ...other,
  });
  const encrypt = (
    claims: object,
    {
      with: using = derived('answer link'),
      header = { purpose: 'answer' },
      kid = 'k1',
    }: { with?: Uint8Array; header?: object; kid?: string } = {},
  ) =>
    new CompactEncrypt(new TextEncoder().encode(JSON.stringify(claims)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid, ...header })
      .encrypt(using);
  const foreign = derived('answer link', randomBytes(32));
  const unsubscribe = derived('unsubscribe token');
  /** Replaces a part of the token by that of another link. */
  const mix = (part: number) => async (target: Target) => {
    const parts = tokenOf(target).split('.');
    parts[part] = tokenOf(await createTarget()).split('.')[part] ?? '';
    return parts.join('.');
  };

  test.each<[what: string, forge: (target: Target) => string | Promise<string>]>([
    ['is empty', () => ''],
    ['is a word', () => 'x'],
    ['is cut', (target) => tokenOf(target).slice(0, -2)],
    ['has another character', (target) => `${tokenOf(target)}A`],
    ['has padding', (target) => `${tokenOf(target)}=`],
    [
      'has another last character for the same bytes',
      (target) => {
        const token = tokenOf(target);
        const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
        return token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1) ?? '') + 1];
      },
    ],
    ['has another part', (target) => `${tokenOf(target)}.`],
    ['is percent-encoded', (target) => tokenOf(target).replace('.', '%2E')],
    ['is of no content that was shown', (target) => encrypt(content(target))],
    ['has the key of another gateway', (target) => encrypt(content(target), { with: foreign })],
    ['has the key of what is stored', (target) => encrypt(content(target), { with: key })],
    ['has the key of unsubscribe links', (target) => encrypt(content(target), { with: unsubscribe })],
    ['has no purpose', (target) => encrypt(content(target), { header: {} })],
    ['has another purpose', (target) => encrypt(content(target), { header: { purpose: 'unsubscribe' } })],
    ['has an unknown key ID', (target) => encrypt(content(target), { kid: 'k2' })],
    ['lacks an expiry', (target) => encrypt(content(target, { expiresAt: undefined }))],
    ['never expires', (target) => encrypt(content(target, { expiresAt: 'never' }))],
    [
      'is a link to unsubscribe',
      ({ userId }) => createUnsubscribeTokens(keys).sign({ userId, kind: 'plan_requested' }),
    ],
    ["is the user's token of the API", ({ userId }) => member(userId)],
    ['is not encrypted', (target) => new UnsecuredJWT(content(target)).encode()],
    [
      'is signed with the key',
      (target) => new SignJWT(content(target)).setProtectedHeader({ alg: 'HS256' }).sign(key),
    ],
    ['has the header of another', mix(0)],
    ['has the vector of another', mix(2)],
    ['has the content of another', mix(3)],
    ['has the tag of another', mix(4)],
    ['has the ID of the notification', ({ id }) => id],
    ['has 100,000 characters', (target) => tokenOf(target) + 'A'.repeat(10_000)],
  ])('that %s is refused', async (what, forge) => {
    await expectHarmless(async (target) => {
      const token = await forge(target);
      // The header of another link is the same.
      if (what !== 'has the header of another') await expectInvalid(target, token);
    });
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

  test.each<[when: string, attack: Attack]>([
    ['after its ID was published again with another plan', republish('2. Do more')],
    ['after its ID was published again with the same plan', republish(input.plan)],
    ['after the address has changed', (target) => change(target, other)],
    ['after the address was removed', (target) => change(target, undefined)],
    ['after the same address was put again', (target) => change(target, `${target.userId}@example.com`)],
    [
      'after the address has changed twice',
      (target) => change(target, other, `${target.userId}@example.com`),
    ],
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

  test('after seven days', async () => {
    const target = await createTarget();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 7 * 86_400_000 + 1000 });
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
  const part = '--x\r\nContent-Disposition: form-data; name="choice-0"\r\n\r\n0\r\n--x--';

  test.each<[what: string, send: () => RequestInit, status: number]>([
    ['GET', () => ({}), 200],
    ['HEAD', () => ({ method: 'HEAD' }), 200],
    ['OPTIONS', () => ({ method: 'OPTIONS' }), 404],
    ['PUT', () => ({ ...post(), method: 'PUT' }), 404],
    ['PATCH', () => ({ ...post(), method: 'PATCH' }), 404],
    ['DELETE', () => ({ method: 'DELETE' }), 404],
    ['GET with another method in a header', () => ({ headers: { 'X-HTTP-Method-Override': 'POST' } }), 200],
    ['POST without a body', () => post(null), 422],
    ['POST of the form as it is, with its button', () => post('text-0='), 422],
    ['POST of every button', () => post('choice-0=0&choice-0=1&choice-0=2&text-0=x'), 422],
    ['POST of an unknown decision', () => post('choice-0=3'), 422],
    ['POST of a negative decision', () => post('choice-0=-1'), 422],
    ['POST of an empty decision', () => post('choice-0='), 422],
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
    ['POST of text', () => ofType('text/plain'), 400],
    ['POST of a similar type', () => ofType('application/x-www-form-urlencoded2'), 400],
    ['POST of several parts', () => ofType('multipart/form-data; boundary=x', part), 400],
    ['POST of a compressed form', () => post(gzipSync(approve), { 'Content-Encoding': 'gzip' }), 400],
    ['POST of more than 128 KiB', () => post(`${approve}&text-0=${'x'.repeat(131_072)}`), 400],
    [
      'POST of more than 128 KiB without a length',
      () => ({ ...post(new Blob(['x'.repeat(200_000)]).stream()), duplex: 'half' }),
      400,
    ],
    ['POST of a long text', () => post(`${approve}&text-0=${'x'.repeat(10_001)}`), 422],
    ['POST to the link with a query', () => post('text-0=x'), 422],
  ])('%s', async (what, send, status) => {
    const target = await expectHarmless(async ({ link }) => {
      const reply = await openLink(what.endsWith('with a query') ? `${link}?${approve}` : link, send());
      expect(reply.status).toBe(status);
      if (status === 404) return;
      expect(reply.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(reply.headers.get('x-frame-options')).toBe('DENY');
      expect(reply.headers.get('cache-control')).toBe('no-store');
    });
    // The user can still decide.
    expect((await sendForm(target.link, decide.reject)).status).toBe(200);
  });

  test('too many requests with one link are refused', async () => {
    const limited = await startAnsweringGateway({ RATE_LIMIT_READS_PER_MINUTE: '3' });
    try {
      const { link } = await publishByMail(limited, 'alice');
      const statuses: number[] = [];
      while (!statuses.includes(429) && statuses.length < 50) statuses.push((await openLink(link)).status);
      expect(statuses).toContain(429);
      expect((await sendForm(link, decide.approve)).status).toBe(429);
    } finally {
      await limited.close();
    }
  });
});

test('what the task sent becomes no markup, link of the page or header', async () => {
  const bad = `"'><script>alert(1)</script><img src=x onerror=alert(1)><form action=//evil.example>\u202e</textarea></title>`;
  const options = [{ label: bad, description: bad, preview: bad }];
  const { link } = await publishByMail(gateway, 'markup', 'question_requested', {
    title: bad.replace('\u202e', ''),
    projectName: bad,
    task: { id: bad, projectId: 'p', name: bad },
    onExpiry: { questions: [{ index: 0, options: [], other: bad }] },
    expiresInSeconds: 3600,
    payload: {
      questionRequested: {
        toolId: 't',
        input: { questions: [{ question: bad, header: bad, options }], [bad]: bad },
      },
    },
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

describe('an interaction changes nothing', () => {
  let slack: SlackGateway;
  beforeAll(async () => {
    slack = await startSlackGateway();
  });
  afterAll(() => slack.close());

  type Shown = { userId: string; id: string; message: ChatMessage; payload: ReturnType<typeof createClick> };
  async function show(userId: string): Promise<Shown> {
    const { id, message } = await publishInChat(slack, userId);
    return { userId, id, message, payload: createClick(slack, message, 'Approve') };
  }
  const now = () => Math.floor(Date.now() / 1000);
  const bound = ({ payload }: Shown) => JSON.parse(payload.actions[0]?.value ?? '');
  /** Replaces what the button is bound to. */
  const rebind = (shown: Shown, other: object) => ({
    actions: [{ action_id: 'answer-0', value: JSON.stringify({ ...bound(shown), ...other }) }],
  });
  const isOpen = async ({ userId, id }: Shown) =>
    (await readNotification(slack, userId, id))?.request.state === 'OPEN';

  const signature = (value: string) => () => ({ headers: { 'X-Slack-Signature': value } });
  const timestamp = (value: () => string) => () => ({ headers: { 'X-Slack-Request-Timestamp': value() } });
  const send = (payload: object) => () => ({ payload });
  const button = (other: object) => (shown: Shown) => ({ payload: rebind(shown, other) });
  const zeros = '0'.repeat(64);

  test.each<[what: string, forge: (shown: Shown) => Forged | Promise<Forged>, status: number]>([
    ['with another secret', () => ({ secret: 'another-secret-of-slack' }), 401],
    ['without a signature', signature(''), 401],
    ['with a signature of another version', signature(`v1=${zeros}`), 401],
    ['with a short signature', signature('v0='), 401],
    ['with a signature of zeros', signature(`v0=${zeros}`), 401],
    ['without a timestamp', timestamp(() => ''), 401],
    ['with another timestamp than the signed one', timestamp(() => String(now() - 1)), 401],
    ['with a timestamp that is no number', timestamp(() => 'now'), 401],
    ['with a timestamp in another form', timestamp(() => `${now()}.0`), 401],
    ['that is five minutes old', () => ({ time: now() - 302 }), 401],
    ['that is five minutes early', () => ({ time: now() + 302 }), 401],
    ['with more than was signed', () => ({ suffix: '&payload={}' }), 401],
    [
      'with a token of the API',
      async ({ userId }) => ({ secret: 'x', headers: { Authorization: `Bearer ${await member(userId)}` } }),
      401,
    ],
    ['with more than 512 KiB', send({ more: 'x'.repeat(600_000) }), 400],
    ['that is compressed', () => ({ headers: { 'Content-Encoding': 'gzip' } }), 400],
    ['without a member', send({ user: undefined }), 400],
    ['without a team', send({ team: null }), 400],
    [
      'with several actions',
      ({ payload: { actions } }) => ({ payload: { actions: [...actions, ...actions] } }),
      400,
    ],
    ['with a button of another app', send({ actions: [{ action_id: 'answer-0', value: 'approve' }] }), 400],
    ['of another workspace', send({ team: { id: 'T0OTHER' } }), 200],
    ['of another member', send({ user: { id: 'U-other' } }), 200],
    [
      'in another channel',
      ({ message }) => ({ payload: { container: { channel_id: 'C0OTHER', message_ts: message.ts } } }),
      200,
    ],
    [
      'with another message',
      ({ message }) => ({ payload: { container: { channel_id: message.channel, message_ts: '1.000001' } } }),
      200,
    ],
    ['without a message', send({ container: undefined }), 200],
    [
      'with the place of its message in the button',
      (shown) => ({
        payload: {
          container: { channel_id: 'C0OTHER', message_ts: '1.1' },
          ...rebind(shown, { place: { channel: shown.message.channel, ts: shown.message.ts } }),
        },
      }),
      200,
    ],
    ['bound to other content', button({ requestHash: 'x'.repeat(43) }), 200],
    ['bound to another user', button({ userId: 'nobody' }), 200],
    ['bound to an unknown notification', button({ id: 'none' }), 200],
    ['that fills in nothing', button({ form: '' }), 200],
    ['that fills in every decision', button({ form: 'choice-0=0&choice-0=2' }), 200],
    ['that fills in an unknown decision', button({ form: 'choice-0=9' }), 200],
    [
      'with an expired trigger',
      ({ payload: { actions } }) => ({
        payload: { trigger_id: 'old', actions: [{ action_id: 'open-1', value: actions[0]?.value }] },
      }),
      200,
    ],
  ])('%s', async (what, forge, status) => {
    const shown = await show(`slack-${what.replaceAll(' ', '-')}`);
    const reply = await interact(slack, shown.payload, await forge(shown));
    expect(reply.status).toBe(status);
    expect(await isOpen(shown)).toBe(true);
    // The member can still decide.
    await click(slack, shown.message, 'Reject');
    expect(await isOpen(shown)).toBe(false);
  });

  test.each<[what: string, change: (shown: Shown) => Promise<unknown>]>([
    [
      'after its ID was published again',
      async ({ userId, id }) => {
        await deleteUser(slack, userId);
        await putContact(slack, userId, { chatMemberId: memberOf(userId) });
        await publish(slack, userId, 'plan_requested', { id });
      },
    ],
    [
      'after the user has another member',
      ({ userId }) => putContact(slack, userId, { chatMemberId: 'U-new' }),
    ],
    ['after the member was removed', ({ userId }) => putContact(slack, userId, {})],
  ])('%s', async (what, change) => {
    const shown = await show(`void-${what.replaceAll(' ', '-')}`);
    await change(shown);
    expect((await interact(slack, shown.payload)).status).toBe(200);
    expect(await isOpen(shown)).toBe(true);
  });

  test('with the button of another request', async () => {
    const [one, other] = [await show('one'), await show('other')];
    for (const payload of [
      { actions: other.payload.actions },
      { container: other.payload.container },
      { user: other.payload.user },
    ])
      await interact(slack, one.payload, { payload });
    expect([await isOpen(one), await isOpen(other)]).toEqual([true, true]);
  });

  test('from a modal of another member, or whose metadata or fields were changed', async () => {
    const shown = await show('modals');
    await click(slack, shown.message, 'Request changes');
    const sent = createSubmission('modals', lastModal(slack), { 'text-0': 'x' });
    const metadata = JSON.parse(sent.view.private_metadata);
    const withMetadata = (other: object) => ({
      view: { ...sent.view, private_metadata: JSON.stringify({ ...metadata, ...other }) },
    });
    for (const payload of [
      { user: { id: 'U-other' } },
      { team: { id: 'T0OTHER' } },
      withMetadata({ requestHash: 'x' }),
      withMetadata({ id: 'none' }),
      withMetadata({ place: undefined }),
      withMetadata({ place: { channel: 'D1', ts: '1.1' } }),
      withMetadata({ form: 'choice-0=0&choice-0=1' }),
      { view: { ...sent.view, private_metadata: '{}' } },
      {
        view: { ...sent.view, state: { values: { 'choice-0': { a: { selected_option: { value: '0' } } } } } },
      },
    ])
      await interact(slack, sent, { payload });
    expect(await isOpen(shown)).toBe(true);
    expect((await interact(slack, sent)).body.response_action).toBe('update');
    expect(await isOpen(shown)).toBe(false);
  });

  test('after the same signed request was answered, as often as it is repeated', async () => {
    const shown = await show('replays');
    const time = now();
    for (let count = 0; count < 5; count += 1) await interact(slack, shown.payload, { time });
    const { request } = await readNotification(slack, 'replays', shown.id);
    expect(request).toMatchObject({
      state: 'ANSWERED',
      answer: { via: 'CHAT', plan: { decision: 'APPROVE' } },
    });
    expect(await listEvents(slack.database, 'replays')).toEqual([`answered ${shown.id}`]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 301_000 });
    try {
      expect((await interact(slack, shown.payload, { time })).status).toBe(401);
    } finally {
      vi.useRealTimers();
    }
  });

  test('that is not a signed form, or without CHAT_SIGNING_SECRET', async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS', 'DELETE'])
      expect((await fetch(`${slack.address}/slack/interactions`, { method })).status).toBe(404);
    expect((await interact(gateway, {})).status).toBe(404);
    expect((await interact(slack, {}, { suffix: '' })).status).toBe(400);
  });
});
