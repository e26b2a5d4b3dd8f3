import { afterAll, beforeAll, expect, test } from 'vitest';
import { decide, findLink, sendForm } from '../support/answer-page.ts';
import type { Modal } from '../support/block-kit.ts';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor } from '../support/gateway.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { answer, awaitRequest, listEvents } from '../support/requests.ts';
import {
  click,
  createSubmission,
  interact,
  lastModal,
  publishInChat,
  slackSettings,
} from '../support/slack.ts';
import { member } from '../support/tokens.ts';
import { readWholeFeed } from './platform-feed.ts';

/*
 * Callers answer one request at once, over GraphQL, over REST, by the link in a mail and in the chat, at two gateway processes
 * of one database, of which one is killed meanwhile. Every caller has an answer of its own, which it sends again until it has
 * a reply.
 */

const ROUNDS = 100;
/** A gateway takes longer to start than a race. */
const KILL_EVERY = 4;
const CALLERS = 24;
const WAITERS = 4;
/** The replies after which a gateway is killed, at most. */
const MAX_REPLIES_BEFORE_KILL = 12;

const PUBLIC_URL = 'https://account.example.com';

/** What is returned to a caller: whose answer won and how it was given, and whether it is the caller's own. */
type Returned = { isOwn: boolean; winner: string };
type Request = { userId: string; id: string; path: string; modal: Modal };

let database: TestDatabase;
let mail: MailServer;
let chat: ChatApi;
let settings: Record<string, string>;
const gateways: GatewayProcess[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  [mail, chat] = await Promise.all([startMailServer(), startChatApi()]);
  settings = {
    ...settingsFor(database),
    ...slackSettings(chat),
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    SMTP_FROM: 'gateway@example.com',
    DELIVERY_EMAIL_DELAY_SECONDS: '0',
    ANSWER_LINKS: 'all',
    PUBLIC_URL,
    LOG_LEVEL: 'error',
    DATABASE_TIMEOUT_MS: '60000',
  };
  gateways.push(...(await Promise.all([startGatewayProcess(settings), startGatewayProcess(settings)])));
});
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await Promise.all([mail.close(), chat.close()]);
  await database.drop();
});

const at = (index: number): GatewayProcess => gateways[index % 2] ?? expect.unreachable();

/** Kills a gateway and starts another one in its place. */
async function replace(index: number): Promise<void> {
  const killed = at(index).stop('SIGKILL');
  gateways[index % 2] = await startGatewayProcess(settings);
  await killed;
}

test(`in ${ROUNDS} races of ${CALLERS} answers, one wins, and all callers receive it`, async () => {
  const answered: string[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) answered.push(await race(round, round % KILL_EVERY === 0));
  await eventually(async () => {
    const events = await readWholeFeed(at(0), { first: 1000 });
    expect(events.map(({ type, notificationId }) => `${type} ${notificationId}`).toSorted()).toEqual(
      answered.map((id) => `NOTIFICATION_ANSWERED ${id}`).toSorted(),
    );
  });
}, 600_000);

/** Runs a race, and returns the ID of the request. */
async function race(round: number, kills: boolean): Promise<string> {
  const userId = `user-${round}`;
  const slack = { address: at(round + 1).address, database, chat };
  const { id, message } = await publishInChat(slack, userId);
  await click(slack, message, 'Request changes');
  const link = await eventually(() => findLink(mail, userId));
  const request = { userId, id, path: new URL(link).pathname, modal: lastModal(slack) };
  let replies = 0;
  let kill: Promise<void> | undefined;
  const killAfter = (round * 5) % (MAX_REPLIES_BEFORE_KILL + 1);
  const countReply = () => {
    replies += 1;
    if (kills && replies >= killAfter) kill ??= replace(round);
  };
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    const returned = await retry(caller, (gateway) => answerOnce(gateway, request, caller));
    countReply();
    return returned;
  });
  const waiters = Array.from({ length: WAITERS }, (_, waiter) =>
    retry(waiter, (gateway) => awaitOnce(gateway, request)),
  );
  if (killAfter === 0) countReply();
  const returned = await Promise.all(callers);
  const awaited = await Promise.all(waiters);
  await kill;

  const [stored] = await database.sql(
    `select concat_ws(' ', answer #>> '{plan,feedback}', upper(answer ->> 'via')) as winner, status,
            request_state as state, revision::int from notification where user_id = $1 and id = $2`,
    [userId, id],
  );
  expect(stored).toMatchObject({ status: 'resolved', state: 'answered', revision: 2 });
  expect(returned.filter(({ isOwn }) => isOwn)).toHaveLength(1);
  const shown = [...returned.map(({ winner }) => winner), ...awaited];
  expect(shown).toEqual(shown.map(() => stored?.winner));
  // If the gateway that stored the answer was killed, a sweep updates the message.
  if (!kills) {
    const start = performance.now();
    const [, feedback] = /^(from \d+)/.exec(String(stored?.winner)) ?? [];
    await eventually(() => expect(message.updates.at(-1)).toContain(`: ${feedback} (${userId}, `));
    expect(performance.now() - start).toBeLessThan(2000);
  }
  expect(await listEvents(database, userId)).toEqual([`answered ${id}`]);
  return id;
}

/** Repeats a call, at the gateways in turn, until the connection stays open until the reply. */
async function retry<Result>(
  first: number,
  call: (gateway: GatewayProcess) => Promise<Result>,
): Promise<Result> {
  for (let index = first; ; index += 1) {
    try {
      return await call(at(index));
    } catch (error) {
      // `fetch` throws this error if the connection is refused or closed.
      if (!(error instanceof TypeError)) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Answers on one of the four surfaces. */
async function answerOnce(gateway: GatewayProcess, request: Request, caller: number): Promise<Returned> {
  const { userId, id } = request;
  const answerId = `${id}-${caller}`;
  const feedback = `from ${caller}`;
  switch (caller % 4) {
    case 0: {
      const { status, body } = await rest(gateway, 'POST', `/user/notifications/${id}/answer`, {
        token: await member(userId),
        body: { answer_id: answerId, plan: { decision: 'reject', feedback } },
      });
      const { plan, via } = status === 200 ? body.answer : body.errors[0].value.answer;
      return { isOwn: status === 200, winner: `${plan.feedback} ${via.toUpperCase()}` };
    }
    case 1: {
      const plan = { decision: 'APPROVE', feedback };
      const { __typename, answer: winner } = await answer(gateway, userId, { id, answerId, plan });
      return { isOwn: __typename === 'AnswerStored', winner: `${winner?.plan?.feedback} ${winner?.via}` };
    }
    default:
      return answerInWords(gateway, request, caller);
  }
}

/** Answers on a page or in a modal, until neither asks to try again. Both show the winner in words. */
async function answerInWords(
  gateway: GatewayProcess,
  { userId, path, modal }: Request,
  caller: number,
): Promise<Returned> {
  const form = { 'text-0': `from ${caller}` };
  for (;;) {
    if (caller % 4 === 2) {
      const headers = { Origin: PUBLIC_URL };
      const { status, page } = await sendForm(gateway.address + path, { ...decide.change, ...form }, headers);
      if (status !== 503) return { isOwn: status === 200, winner: readWinner(page) };
    } else {
      const { body } = await interact(gateway, createSubmission(userId, modal, form));
      const text = JSON.stringify(body);
      if (!text.includes('counts only once'))
        return { isOwn: !text.includes('was not stored'), winner: readWinner(text) };
    }
  }
}

const surfaces = Object.entries({
  GRAPHQL: 'in an app',
  REST: 'over the REST API',
  EMAIL: 'by link in a mail',
  CHAT: 'in the chat',
});

function readWinner(text: string): string {
  const [feedback] = /from \d+/.exec(text) ?? [];
  const [via] = surfaces.find(([, words]) => text.includes(words)) ?? [];
  return `${feedback} ${via}`;
}

/** Waits as the platform, and returns the winner. */
async function awaitOnce(gateway: GatewayProcess, { userId, id }: Request): Promise<string> {
  for (;;) {
    const { state, answer } = await awaitRequest(gateway, userId, id, 55);
    if (state !== 'OPEN') return `${answer?.plan?.feedback} ${answer?.via}`;
  }
}
