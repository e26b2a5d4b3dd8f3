import { afterAll, beforeAll, expect, test } from 'vitest';
import { decideChange } from '../../src/delivery/follow-changes.ts';
import type { OpenDelivery } from '../../src/delivery/select-deliveries.ts';
import { listStored, makeDue, putContact } from '../support/delivery.ts';
import { data } from '../support/delivery-job.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { publish } from '../support/records.ts';
import { answer, answers } from '../support/requests.ts';
import { click, memberOf, publishInChat, slackSettings } from '../support/slack.ts';
import { type Providers, startProviders } from './providers.ts';

/* What becomes of the messages of notifications that are dismissed, restored, and settled afterwards; below, the rule. */

let providers: Providers;
let gateway: TestGateway & Pick<Providers, 'chat'>;
beforeAll(async () => {
  providers = await startProviders();
  const { chat, settings } = providers;
  const started = await startTestGateway({
    ...settings,
    ...slackSettings(chat),
    DELIVERY_EMAIL_DELAY_SECONDS: '3600',
  });
  gateway = { ...started, chat };
});
afterAll(async () => {
  await gateway.close();
  await providers.close();
});

const done = expect.stringContaining('Done: this no longer needs your attention.');
const approved = (userId: string) => expect.stringContaining(`Answered: Approve (${userId}, in an app)`);
const restore = (userId: string, id: string) => gateway.as(userId).restore({ id });
const sentTo = (userId: string) =>
  gateway.chat.messages.filter(({ memberId }) => memberId === memberOf(userId));
const stored = (userId: string) => listStored(gateway.database, userId);

/** Holds the next call of the chat API, and waits for it. */
async function hold(start: () => Promise<unknown>): Promise<() => void> {
  const release = gateway.chat.hold();
  const call = gateway.chat.nextCall();
  await start();
  await call;
  return release;
}

test.each<[what: string, dismissed: 'at once' | 'once the message says so']>([
  ['soon', 'at once'],
  ['late', 'once the message says so'],
])(
  'the message of a request that is restored %s has its text and buttons again, and then shows the answer',
  async (what, when) => {
    const userId = `request-${what}`;
    const { id, message } = await publishInChat(gateway, userId);
    const { text, blocks } = message;
    expect(blocks).not.toEqual([]);
    await dismiss(gateway, userId, [id]);
    if (when !== 'at once')
      await eventually(() => expect(message).toMatchObject({ updates: [done], blocks: [] }));
    await restore(userId, id);
    await eventually(async () => {
      expect([message.updates.at(-1), message.blocks]).toEqual([text, blocks]);
      expect(await stored(userId)).toContain('chat delivered');
    });

    await click(gateway, message, 'Approve');
    await eventually(() =>
      expect(message.updates.at(-1)).toContain(`Answered: Approve (${userId}, in the chat)`),
    );
    expect(message.blocks).toEqual([]);
    expect(sentTo(userId)).toHaveLength(1);
  },
);

test('the message of a notification without a request has its text again', async () => {
  const { id, message } = await publishInChat(gateway, 'failed', 'task_failed');
  await dismiss(gateway, 'failed', [id]);
  await eventually(() => expect(message.updates).toEqual([done]));
  await restore('failed', id);
  await eventually(() => expect(message.updates).toEqual([done, message.text]));
});

test('a day after a dismissal, the delivery of a notification without a request is closed', async () => {
  const { id, message } = await publishInChat(gateway, 'yesterday', 'task_failed');
  await dismiss(gateway, 'yesterday', [id]);
  await eventually(() => expect(message.updates).toEqual([done]));
  const { sql } = gateway.database;
  const ofUser = `where user_id = 'yesterday'`;
  const isOpen = async () => {
    const rows = await sql(
      `select is_open from delivery ${ofUser} and channel = 'chat' and state = 'delivered'`,
    );
    return rows.map((row) => row.is_open);
  };
  await eventually(async () => expect(await isOpen()).toEqual([true]));
  await sql(`update notification set dismissed_at = dismissed_at - interval '1 day' ${ofUser}`);
  await putContact(gateway, 'yesterday', {});
  await eventually(async () => expect(await isOpen()).toEqual([false]));
});

test('the message of a dismissed request shows the answer that is given elsewhere', async () => {
  const { id, message } = await publishInChat(gateway, 'elsewhere');
  await dismiss(gateway, 'elsewhere', [id]);
  await eventually(() => expect(message.updates).toEqual([done]));
  await answer(gateway, 'elsewhere', { id, ...answers.approve });
  await eventually(() => expect(message.updates).toEqual([done, approved('elsewhere')]));
});

test('a refused update does not keep later ones from the message', async () => {
  const { id, message } = await publishInChat(gateway, 'refused-once');
  gateway.chat.answer({ error: 'msg_too_long' });
  await dismiss(gateway, 'refused-once', [id]);
  await eventually(async () =>
    expect(await stored('refused-once')).toContain('chat delivered message_rejected'),
  );
  await answer(gateway, 'refused-once', { id, ...answers.approve });
  await eventually(() => expect(message.updates).toEqual([approved('refused-once')]));
});

test.each<
  [what: string, change: (userId: string, id: string) => Promise<unknown>, shown: object | undefined]
>([
  ['restored', restore, undefined],
  [
    'answered',
    (userId, id) => answer(gateway, userId, { id, ...answers.approve }),
    approved('while-answered'),
  ],
])('a request that is %s while its message is updated is shown so', async (what, change, shown) => {
  const userId = `while-${what}`;
  const { id, message } = await publishInChat(gateway, userId);
  const { blocks, text } = message;
  const release = await hold(() => dismiss(gateway, userId, [id]));
  await change(userId, id);
  release();
  await eventually(() => expect(message.updates).toEqual([done, shown ?? text]));
  expect(message.blocks).toEqual(shown ? [] : blocks);
});

test('a message whose attempt failed while its notification was dismissed is sent once that is restored', async () => {
  await putContact(gateway, 'attempt', { chatMemberId: memberOf('attempt') });
  gateway.chat.answer({ status: 503, body: '' });
  let id = '';
  const release = await hold(async () => {
    ({ id } = await publish(gateway, 'attempt'));
  });
  await dismiss(gateway, 'attempt', [id]);
  release();
  await eventually(async () => expect(await stored('attempt')).toEqual(['chat cancelled settled']));
  await restore('attempt', id);
  await eventually(async () => expect(await stored('attempt')).toEqual(['chat pending']));
  await makeDue(gateway.database, 'attempt');
  await eventually(async () => expect(await stored('attempt')).toEqual(['chat delivered']));

  await answer(gateway, 'attempt', { id, ...answers.approve });
  await eventually(() => expect(sentTo('attempt')).toMatchObject([{ updates: [approved('attempt')] }]));
});

test('an email whose notification is dismissed and restored within its delay is sent when it is due', async () => {
  await putContact(gateway, 'delayed', { email: 'delayed@example.com' });
  const { id } = await publish(gateway, 'delayed');
  const readDueAt = async () => {
    const [row] = await gateway.database.sql(
      `select due_at, first_due_at from delivery where user_id = 'delayed'`,
    );
    return row;
  };
  const before = await readDueAt();
  await dismiss(gateway, 'delayed', [id]);
  await eventually(async () => expect(await stored('delayed')).toEqual(['email cancelled settled']));
  await restore('delayed', id);
  await eventually(async () => expect(await stored('delayed')).toEqual(['email pending']));
  expect(await readDueAt()).toEqual(before);
  await makeDue(gateway.database, 'delayed');
  await eventually(async () => expect(await stored('delayed')).toEqual(['email delivered']));
});

const resolvedAt = '2026-05-04T10:00:00.000Z';
const notifications = {
  active: {},
  'a dismissed request': { status: 'dismissed' },
  'another dismissed': { status: 'dismissed', requestState: 'none' },
  resolved: { status: 'resolved', requestState: 'answered', resolvedAt },
  'answered while dismissed': { status: 'dismissed', requestState: 'answered', resolvedAt },
  deleted: { status: null, requestState: null },
  'in a disabled channel': { emailEnabled: false, pushEnabled: false, chatDmEnabled: false },
} as const satisfies Record<string, Partial<OpenDelivery>>;

const deliveries = {
  pending: { state: 'pending' },
  'a chat message that may have arrived': { state: 'pending', mayBeDelivered: true },
  'an email that may have arrived': { state: 'pending', mayBeDelivered: true, channel: 'email' },
  'a pending update': { state: 'pending', step: 'update' },
  sending: { state: 'sending' },
  cancelled: { state: 'cancelled' },
  'cancelled, and its time is over': { state: 'cancelled', isExpired: true },
  delivered: { state: 'delivered' },
  updated: { state: 'delivered', step: 'update' },
  'updated long ago': { state: 'delivered', step: 'update', isExpired: true, wasDismissedLongAgo: true },
} as const satisfies Record<string, Partial<OpenDelivery>>;

const dismissed = ['a dismissed request', 'another dismissed'] as const;
const final = ['resolved', 'answered while dismissed', 'deleted'] as const;
const disabled = 'in a disabled channel';

/* What becomes of the delivery, and whether it stays open. */
test.each<[what: keyof typeof deliveries, of: readonly (keyof typeof notifications)[], becomes: string]>([
  ['pending', ['active'], 'unchanged'],
  ['pending', dismissed, 'cancel settled open'],
  ['pending', final, 'cancel settled'],
  ['pending', [disabled], 'cancel channel_disabled'],
  ['a chat message that may have arrived', ['active'], 'unchanged'],
  ['a chat message that may have arrived', [...dismissed, ...final, disabled], 'search'],
  ['an email that may have arrived', dismissed, 'cancel settled open'],
  ['an email that may have arrived', final, 'cancel settled'],
  ['a pending update', ['active', ...dismissed, ...final, disabled], 'unchanged'],
  ['sending', ['active', ...dismissed, ...final, disabled], 'unchanged'],
  ['cancelled', ['active'], 'queue open'],
  ['cancelled', dismissed, 'unchanged'],
  ['cancelled', [...final, disabled], 'close'],
  ['cancelled, and its time is over', ['active', ...dismissed, ...final], 'close'],
  ['delivered', ['active', disabled], 'unchanged'],
  ['delivered', [...dismissed, ...final], 'update open'],
  ['updated', ['active', ...final, disabled], 'update open'],
  ['updated', dismissed, 'unchanged'],
  ['updated long ago', ['active', ...final], 'update open'],
  ['updated long ago', ['a dismissed request'], 'unchanged'],
  ['updated long ago', ['another dismissed'], 'close'],
])('%s, of a notification that is %j: %s', (what, of, becomes) => {
  for (const name of of) {
    const change = decideChange({
      ...data,
      wasDismissedLongAgo: false,
      ...deliveries[what],
      ...notifications[name],
    });
    const found = change ? [change.action, change.reason, change.isOpen && 'open'] : ['unchanged'];
    expect(found.filter(Boolean).join(' '), name).toBe(becomes);
  }
});
