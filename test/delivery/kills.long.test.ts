import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ChatAnswer, type ChatApi, startChatApi } from '../support/chat-api.ts';
import { putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, useGateway } from '../support/gateway.ts';
import { type Process, startProcess } from '../support/process.ts';
import { publish, resolve } from '../support/records.ts';

/*
 * Three senders of one database, of which any may be killed at any step of an attempt: before the provider has the
 * message, before its reply, and before the reply is stored. A trigger logs every claim with the notification's status.
 */

/** What happens to a call: a reply, a lost reply, or the death of the sender at a step. */
const fates = [
  'ok',
  'unavailable',
  'message_rejected',
  'no_reply',
  'killed_before',
  'killed_after_receipt',
  'killed_after_reply',
] as const;
type Fate = (typeof fates)[number];

const answers: Readonly<Record<Fate, ChatAnswer>> = {
  ok: 'ok',
  unavailable: { error: 'internal_error' },
  message_rejected: { error: 'msg_too_long' },
  no_reply: 'no reply',
  killed_before: { status: 500, body: '' },
  killed_after_receipt: 'no reply',
  killed_after_reply: 'ok',
};

/** Fates after which the sender does not know that the message was accepted. */
const isLossy = (fate: Fate) => fate === 'no_reply' || fate.startsWith('killed_after');

const SENDERS = ['sender-1', 'sender-2', 'sender-3'];
const USERS = ['alice', 'bob'];

const queueing = { CHAT_TOKEN: 'chat-token', CHAT_API_URL: 'http://127.0.0.1:1', DELIVERY: 'false' };
const gateway = useGateway(queueing);
let chat: ChatApi;
/** The calls to post a message, and whether the member has it. */
const posts: { title: string; fate: Fate; isAccepted: boolean }[] = [];
/** The fates of the next posts. Later ones are accepted. */
const nextFates: Fate[] = [];
let settings: Record<string, string>;
const running = new Map<string, Process>();
const dying: Promise<unknown>[] = [];

beforeAll(async () => {
  chat = await startChatApi();
  chat.grant('im:history', 'im:write');
  chat.setAnswer(({ path, method, parameters }) => {
    const [, sender = ''] = path.split('/');
    return method === 'chat.postMessage' ? post(sender, parameters.text ?? '') : 'ok';
  });
  settings = { ...settingsFor(gateway.database), CHAT_TOKEN: chat.token, LOG_LEVEL: 'error' };
  const { sql } = gateway.database;
  await sql(
    'create table claim_log (id bigserial, user_id text, notification_id text, step text, status text, was text)',
  );
  await sql(`create function log_claim() returns trigger language plpgsql as $$ begin
    insert into claim_log (user_id, notification_id, step, status, was)
      select new.user_id, new.notification_id, new.step, status, old.state from notification
       where user_id = new.user_id and id = new.notification_id;
    return null; end $$`);
  await sql(`create trigger log_claim after update on delivery for each row
    when (new.claims > old.claims) execute function log_claim()`);
  for (const userId of USERS) await putContact(gateway, userId, { chatMemberId: `U-${userId}` });
  for (const sender of SENDERS) start(sender);
  await Promise.all(Array.from(running.values(), (sender) => sender.waitForOutput(/Sending/)));
});
afterAll(async () => {
  await Promise.all(Array.from(running.values(), (sender) => sender.stop()));
  await Promise.all(dying);
  await chat.close();
});

function start(name: string): void {
  running.set(name, startProcess('src/worker.ts', { ...settings, CHAT_API_URL: `${chat.url}/${name}` }));
}

/** Decides the fate of a post. */
function post(sender: string, text: string): ChatAnswer {
  const fate = nextFates.shift() ?? 'ok';
  const isAccepted = fate === 'ok' || isLossy(fate);
  posts.push({ title: /task-\d+/.exec(text)?.[0] ?? '', fate, isAccepted });
  if (fate === 'killed_before' || fate === 'killed_after_receipt') kill(sender);
  // After the reply is written.
  if (fate === 'killed_after_reply') setImmediate(() => kill(sender));
  return answers[fate];
}

/**
 * Kills a sender and starts it again. Ends all leases, so that the others need not wait for that of the killed sender:
 * they lose theirs too, as if they had been too slow.
 */
function kill(name: string): void {
  const sender = running.get(name);
  if (sender === undefined) throw new Error(`${name} does not run.`);
  dying.push(sender.stop('SIGKILL').then(() => makeDue('sending')));
  start(name);
}

async function makeDue(state: 'pending' | 'sending'): Promise<void> {
  await gateway.database.sql('update delivery set due_at = now() where state = $1 and due_at > now()', [
    state,
  ]);
}

/** A change, or `due`, which ends the delays of all deliveries. `pick` chooses among the notifications so far. */
type Step = { kind: 'publish' | 'dismiss' | 'resolve' | 'due'; user: string; task: number; pick: number };

const arbitraryStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    ...Array<'publish'>(5).fill('publish'),
    ...(['dismiss', 'dismiss', 'resolve', 'due', 'due'] as const),
  ),
  user: fc.constantFrom(...USERS),
  task: fc.nat(5),
  pick: fc.nat(99),
});

const kills = fates.filter((fate) => fate.startsWith('killed'));

/** One kill at each step in every run, between other fates. */
const arbitraryFates = fc
  .array(fc.constantFrom(...fates.filter((fate) => !kills.includes(fate))), { minLength: 5, maxLength: 12 })
  .chain((others) => fc.shuffledSubarray([...others, ...kills], { minLength: others.length + kills.length }));

let published = 0;

test('delivers every wanted message, none settled before its claim, and repeats only with a recorded cause', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryStep, { minLength: 25, maxLength: 40 }), arbitraryFates, check),
    { numRuns: 2 },
  );
}, 90_000);

async function check(steps: readonly Step[], chosenFates: readonly (typeof fates)[number][]): Promise<void> {
  nextFates.push(...chosenFates);
  const notifications: { user: string; id: string; taskId: string }[] = [];
  for (const { kind, user, task, pick } of steps) {
    const chosen = notifications[pick % notifications.length];
    if (kind === 'due') await makeDue('pending');
    else if (kind === 'publish') {
      published += 1;
      const taskId = `t${task}`;
      const { id } = await publish(gateway, user, 'plan_requested', {
        task: { id: taskId, projectId: 'p' },
        title: `task-${published}`,
      });
      notifications.push({ user, id, taskId });
    } else if (chosen !== undefined && kind === 'dismiss')
      await gateway.as(chosen.user).dismiss({ id: chosen.id });
    else if (chosen !== undefined) await resolve(gateway, chosen.user, chosen.taskId);
  }
  await settleAll();
  await expectSound();
}

/** Waits until nothing is left to send. */
async function settleAll(): Promise<void> {
  await eventually(async () => {
    await makeDue('pending');
    const { sql } = gateway.database;
    expect(await sql(`select from delivery where state in ('pending', 'sending')`)).toEqual([]);
  });
}

async function expectSound(): Promise<void> {
  const rows = await gateway.database.sql(
    `select d.user_id, d.notification_id, d.state, d.reason, d.may_be_delivered, d.receipt, d.attempts, n.title, n.status,
            count(*) filter (where c.step = 'message' and c.status = 'active')::int as claims_while_active,
            count(*) filter (where c.step = 'message' and c.was = 'sending')::int as lost_leases
       from delivery d join notification n on n.user_id = d.user_id and n.id = d.notification_id
       left join claim_log c on c.user_id = d.user_id and c.notification_id = d.notification_id
      group by d.user_id, d.notification_id, d.channel, d.target, n.user_id, n.id`,
  );
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) {
    const own = posts.filter(({ title }) => title === row.title);
    const accepted = own.filter(({ isAccepted }) => isAccepted).length;
    const context = JSON.stringify({ row, own });
    // A row is written for every notification that was published as active.
    if (row.status === 'active') {
      expect(['delivered', 'failed'], context).toContain(row.state);
      if (row.state === 'failed') expect(row.reason, context).toBe('message_rejected');
      else expect(accepted, context).toBeGreaterThan(0);
    }
    if (row.state === 'cancelled') expect(row.status, context).not.toBe('active');
    // The user never has a message of which the gateway says that it was not sent.
    if (row.state === 'cancelled' && !row.may_be_delivered) expect(accepted, context).toBe(0);
    expect(own.length, context).toBeLessThanOrEqual(Number(row.claims_while_active));
    const causes = own.filter(({ fate }) => isLossy(fate)).length + Number(row.lost_leases);
    expect(accepted, context).toBeLessThanOrEqual(1 + causes);
    if (accepted > 1) expect(Number(row.attempts), context).toBeGreaterThan(1);
    if (row.state === 'delivered' && row.status !== 'active') {
      const message = chat.messages.find(({ channel, ts }) => row.receipt === `${channel} ${ts}`);
      expect(message?.updates.length, context).toBeGreaterThan(0);
    }
  }
}
