import { once } from 'node:events';
import { Agent, type ClientRequest, request } from 'node:http';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { ChatMessage } from '../support/chat-api.ts';
import { putContact } from '../support/delivery.ts';
import { startTestGateway } from '../support/gateway.ts';
import { deleteUser, publish } from '../support/records.ts';
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

/* Each row is an interaction that Slack would not send about an open request, which must stay open. */

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
const at = (channel_id: string, message_ts: string) => ({
  payload: { container: { channel_id, message_ts } },
});
const authorize = async (userId: string) => ({ Authorization: `Bearer ${await member(userId)}` });

test.each<[what: string, forge: (shown: Shown) => Forged | Promise<Forged>, status: number]>([
  ['with another secret', () => ({ secret: 'another-secret-of-slack' }), 401],
  ['without a signature', signature(''), 401],
  ['with a signature of another version', signature(`v1=${'0'.repeat(64)}`), 401],
  ['with a short signature', signature('v0='), 401],
  ['without a timestamp', timestamp(() => ''), 401],
  ['with another timestamp than the signed one', timestamp(() => String(now() - 1)), 401],
  ['with a timestamp that is no number', timestamp(() => 'now'), 401],
  ['that is five minutes old', () => ({ time: now() - 302 }), 401],
  ['that is five minutes early', () => ({ time: now() + 302 }), 401],
  ['with more than was signed', () => ({ suffix: '&payload={}' }), 401],
  ['with a token of the API', async ({ userId }) => ({ secret: 'x', headers: await authorize(userId) }), 401],
  ['with more than 512 KiB', send({ more: 'x'.repeat(600_000) }), 400],
  ['that is compressed', () => ({ headers: { 'Content-Encoding': 'gzip' } }), 400],
  ['without a team', send({ team: null }), 400],
  [
    'with several actions',
    ({ payload }) => ({ payload: { actions: Array(2).fill(payload.actions[0]) } }),
    400,
  ],
  ['with a button of another app', send({ actions: [{ action_id: 'answer-0', value: 'approve' }] }), 400],
  ['of another workspace', send({ team: { id: 'T0OTHER' } }), 200],
  ['of another member', send({ user: { id: 'U-other' } }), 200],
  ['in another channel', ({ message }) => at('C0OTHER', message.ts), 200],
  ['with another message', ({ message }) => at(message.channel, '1.000001'), 200],
  ['without a message', send({ container: undefined }), 200],
  [
    'with the place of its message in the button',
    (shown) => {
      const place = { channel: shown.message.channel, ts: shown.message.ts };
      return { payload: { ...at('C0OTHER', '1.1').payload, ...rebind(shown, { place }) } };
    },
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
    ({ payload: { actions } }) => {
      return { payload: { trigger_id: 'old', actions: [{ ...actions[0], action_id: 'open-1' }] } };
    },
    200,
  ],
])('an interaction %s changes nothing', async (what, forge, status) => {
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
  ['after the user has another member', ({ userId }) => putContact(slack, userId, { chatMemberId: 'U-new' })],
  ['after the member was removed', ({ userId }) => putContact(slack, userId, {})],
])('an interaction changes nothing %s', async (what, change) => {
  const shown = await show(`void-${what.replaceAll(' ', '-')}`);
  await change(shown);
  expect((await interact(slack, shown.payload)).status).toBe(200);
  expect(await isOpen(shown)).toBe(true);
});

test('an interaction with the button of another request changes nothing', async () => {
  const [one, other] = [await show('one'), await show('other')];
  for (const payload of [
    { actions: other.payload.actions },
    { container: other.payload.container },
    { user: other.payload.user },
  ])
    await interact(slack, one.payload, { payload });
  expect([await isOpen(one), await isOpen(other)]).toEqual([true, true]);
});

test('a modal of another member, or whose metadata or fields were changed, changes nothing', async () => {
  const shown = await show('modals');
  await click(slack, shown.message, 'Request changes');
  const sent = createSubmission('modals', lastModal(slack), { 'text-0': 'x' });
  const metadata = JSON.parse(sent.view.private_metadata);
  const selected = { a: { selected_option: { value: '0' } } };
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
    { view: { ...sent.view, state: { values: { 'choice-0': selected } } } },
  ])
    await interact(slack, sent, { payload });
  expect(await isOpen(shown)).toBe(true);
  expect((await interact(slack, sent)).body.response_action).toBe('update');
  expect(await isOpen(shown)).toBe(false);
});

test('an interaction that is repeated changes nothing more', async () => {
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

test('an interaction that is not a signed form, or without CHAT_SIGNING_SECRET, is refused', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS', 'DELETE'])
    expect((await fetch(`${slack.address}/slack/interactions`, { method })).status).toBe(404);
  const withoutSecret = await startTestGateway({}, slack.database);
  expect((await interact(withoutSecret, {})).status).toBe(404);
  await withoutSecret.close();
  expect((await interact(slack, {}, { suffix: '' })).status).toBe(400);
});

/** Begins an interaction, of which no body arrives yet. */
function begin(headers: Record<string, string>): ClientRequest {
  const announced = { 'Content-Length': '524288', Expect: '100-continue' };
  const begun = request(`${slack.address}/slack/interactions`, {
    method: 'POST',
    headers: { 'X-Slack-Request-Timestamp': String(now()), ...announced, ...headers },
    agent: new Agent(),
  });
  begun.flushHeaders();
  return begun;
}

test('interactions that do not arrive keep none out, and are given up when Slack would not wait either', async () => {
  const shown = await show('stalled');
  const headers = { 'X-Slack-Signature': `v0=${'0'.repeat(64)}` };
  const stalled = Array.from({ length: 100 }, () => begin(headers));
  await Promise.all(stalled.map((one) => once(one, 'continue')));
  const closed = stalled.map((one) => once(one, 'error'));
  for (const one of stalled) one.write('x'.repeat(1000));

  expect((await click(slack, shown.message, 'Approve')).status).toBe(200);
  expect(await isOpen(shown)).toBe(false);
  for (const [error] of await Promise.all(closed)) expect(error).toMatchObject({ code: 'ECONNRESET' });
});

test.each([
  {},
  { 'X-Slack-Signature': `v0=${'0'.repeat(63)}` },
  { 'X-Slack-Signature': `v0=${'G'.repeat(64)}` },
])('of an interaction with the headers %j, no body is awaited', async (headers) => {
  const [response] = await once(begin(headers), 'response');
  expect(response.statusCode).toBe(401);
  response.destroy();
});
