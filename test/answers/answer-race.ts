import { expect } from 'vitest';
import { decide, findLink, sendForm } from '../support/answer-page.ts';
import type { Modal } from '../support/block-kit.ts';
import { startChatApi } from '../support/chat-api.ts';
import { rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor } from '../support/gateway.ts';
import type { AnswerContentFragment } from '../support/generated/types.ts';
import { startMailServer } from '../support/mail-server.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { answer, awaitRequest } from '../support/requests.ts';
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

const PUBLIC_URL = 'https://account.example.com';

const CALLERS = 24;
const WAITERS = 4;

/** The replies after which a gateway is killed, at most. */
const MAX_REPLIES_BEFORE_KILL = 12;

/** What a caller is told: the answer that won, as far as it is shown, and whether it is the caller's own. */
type Told = { isOwn: boolean; winner: Partial<Winner> };
type Winner = Pick<AnswerContentFragment, 'answerId' | 'by' | 'via' | 'answeredAt'> &
  NonNullable<AnswerContentFragment['plan']>;

export type AnswerRaces = {
  /** Runs a race, and kills a gateway meanwhile by default. */
  run(round: number, options?: { kills: boolean }): Promise<void>;
  checkFeed(): Promise<void>;
  close(): Promise<void>;
};

/** Starts the gateways. */
export async function startAnswerRaces(): Promise<AnswerRaces> {
  const database = await createTestDatabase();
  const [mail, chat] = await Promise.all([startMailServer(), startChatApi()]);
  const settings = {
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
  const start = () => startGatewayProcess(settings);
  const gateways = await Promise.all([start(), start()]);
  const answered: string[] = [];

  const at = (index: number): GatewayProcess => {
    const gateway = gateways[index % gateways.length];
    if (gateway === undefined) throw new Error('There are two gateways.');
    return gateway;
  };

  /** Kills a gateway and starts another one in its place. */
  async function replace(index: number): Promise<void> {
    const killed = at(index).stop('SIGKILL');
    const started = await start();
    gateways[index % gateways.length] = started;
    await killed;
  }

  return {
    async run(round, { kills } = { kills: true }) {
      const userId = `user-${round}`;
      const slack = { address: at(round + 1).address, database, chat };
      const { id, message } = await publishInChat(slack, userId);
      await click(slack, message, 'Request changes');
      const link = await eventually(() => findLink(mail, userId));
      const key: Key = { userId, id, path: new URL(link).pathname, modal: lastModal(slack) };
      let replies = 0;
      let kill: Promise<void> | undefined;
      const killAfter = (round * 5) % (MAX_REPLIES_BEFORE_KILL + 1);
      const countReply = () => {
        replies += 1;
        if (kills && replies >= killAfter) kill ??= replace(round);
      };
      const callers = Array.from({ length: CALLERS }, async (_, caller) => {
        const told = await retry(caller, (index) => answerOnce(at(index), key, caller));
        countReply();
        return told;
      });
      const waiters = Array.from({ length: WAITERS }, (_, waiter) =>
        retry(waiter, (index) => awaitOnce(at(index), key)),
      );
      if (killAfter === 0) countReply();
      const told = await Promise.all(callers);
      const awaited = await Promise.all(waiters);
      await kill;

      const [winner, ...others] = awaited;
      expect(told.filter(({ isOwn }) => isOwn)).toHaveLength(1);
      for (const { winner: shown } of told) expect(winner).toMatchObject(shown);
      for (const other of others) expect(other).toEqual(winner);
      expect(await readStored(database, key)).toEqual([winner?.answerId, 'resolved', 'answered', 2]);
      // If the gateway that stored the answer was killed, a sweep updates the message.
      if (!kills) {
        const start = performance.now();
        await eventually(() =>
          expect(message.updates.at(-1)).toContain(`: ${winner?.feedback} (${userId}, `),
        );
        expect(performance.now() - start).toBeLessThan(2000);
      }
      expect(await listAnswered(database, userId)).toEqual([id]);
      answered.push(id);
    },
    async checkFeed() {
      await eventually(async () => {
        const events = await readWholeFeed(at(0), { first: 1000 });
        expect(events.map(({ type, notificationId }) => `${type} ${notificationId}`).toSorted()).toEqual(
          answered.map((id) => `NOTIFICATION_ANSWERED ${id}`).toSorted(),
        );
      });
    },
    async close() {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await Promise.all([mail.close(), chat.close()]);
      await database.drop();
    },
  };
}

/** Repeats a call, at the gateways in turn, until the connection stays open until the reply. */
async function retry<Result>(first: number, call: (index: number) => Promise<Result>): Promise<Result> {
  for (let index = first; ; index += 1) {
    try {
      return await call(index);
    } catch (error) {
      // `fetch` throws this error if the connection is refused or closed.
      if (!(error instanceof TypeError)) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

type Key = { userId: string; id: string; path: string; modal: Modal };

/** Answers on a page or in a modal, until neither asks to try again. Both show the winner in words. */
async function answerInWords(
  gateway: GatewayProcess,
  { userId, path, modal }: Key,
  caller: number,
): Promise<Told> {
  const feedback = `from ${caller}`;
  for (;;) {
    if (caller % 4 === 2) {
      const headers = { Origin: new URL(PUBLIC_URL).origin };
      const { status, page } = await sendForm(
        gateway.address + path,
        { ...decide.change, 'text-0': feedback },
        headers,
      );
      if (status !== 503) return { isOwn: status === 200, winner: readWinner(page) };
    } else {
      const { body } = await interact(gateway, createSubmission(userId, modal, { 'text-0': feedback }));
      const text = JSON.stringify(body);
      if (!text.includes('counts only once'))
        return { isOwn: !text.includes('was not stored'), winner: readWinner(text) };
    }
  }
}

function readWinner(text: string): Partial<Winner> {
  const [feedback] = /from \d+/.exec(text) ?? [];
  const shown = {
    GRAPHQL: 'in an app',
    REST: 'over the REST API',
    EMAIL: 'by link in a mail',
    CHAT: 'in the chat',
  } as const;
  const via = (['GRAPHQL', 'REST', 'EMAIL', 'CHAT'] as const).find((one) => text.includes(shown[one]));
  if (feedback === undefined || via === undefined) throw new Error(`No winner is shown: ${text}`);
  return { feedback, via };
}

/** Answers on one of the four surfaces. */
async function answerOnce(gateway: GatewayProcess, key: Key, caller: number): Promise<Told> {
  if (caller % 4 > 1) return answerInWords(gateway, key, caller);
  const { userId, id } = key;
  const answerId = `${id}-${caller}`;
  const decision = caller % 3 === 0 ? 'REJECT' : 'APPROVE';
  const feedback = `from ${caller}`;
  if (caller % 4 === 1) {
    const result = await answer(gateway, userId, { id, answerId, plan: { decision, feedback } });
    const { answer: given } = result;
    return { isOwn: result.__typename === 'AnswerStored', winner: toWinner(given) };
  }
  const plan = { decision: decision.toLowerCase(), feedback };
  const { status, body } = await rest(gateway, 'POST', `/user/notifications/${id}/answer`, {
    token: await member(userId),
    body: { answer_id: answerId, plan },
  });
  const given = status === 200 ? body.answer : body.errors[0].value.answer;
  const shown = { answerId: given.answer_id, answeredAt: given.answered_at, by: given.by };
  return {
    isOwn: status === 200,
    winner: toWinner({
      ...shown,
      via: given.via.toUpperCase(),
      plan: { ...given.plan, decision: given.plan.decision.toUpperCase() },
    }),
  };
}

type Shown = Omit<Winner, 'decision' | 'feedback'> & Pick<AnswerContentFragment, 'plan'>;

function toWinner(answer: Shown | null): Winner {
  if (!answer?.plan) throw new Error('The request has no answer.');
  const { answerId, by, via, answeredAt, plan } = answer;
  return { answerId, by, via, answeredAt, decision: plan.decision, feedback: plan.feedback };
}

/** Waits as the platform. */
async function awaitOnce(
  gateway: GatewayProcess,
  { userId, id }: Pick<Key, 'userId' | 'id'>,
): Promise<Winner> {
  for (;;) {
    const request = await awaitRequest(gateway, userId, id, 55);
    if (request.state !== 'OPEN') return toWinner(request.answer);
  }
}

async function readStored({ sql }: TestDatabase, { userId, id }: Key): Promise<unknown[]> {
  const rows = await sql(
    `select answer ->> 'answerId' as answer, status, request_state as state, revision::int from notification
      where user_id = $1 and id = $2`,
    [userId, id],
  );
  return rows.flatMap((row) => [row.answer, row.status, row.state, row.revision]);
}

async function listAnswered({ sql }: TestDatabase, userId: string): Promise<unknown[]> {
  const rows = await sql(`select type, notification_id as id from platform_event where user_id = $1`, [
    userId,
  ]);
  return rows.map(({ type, id }) => (type === 'notification.answered' ? id : type));
}
