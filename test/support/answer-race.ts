import { expect } from 'vitest';
import { rest } from './client.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { eventually } from './eventually.ts';
import { settingsFor } from './gateway.ts';
import { readWholeFeed } from './platform-feed.ts';
import { type GatewayProcess, startGatewayProcess } from './process.ts';
import { publish } from './records.ts';
import { answer, awaitRequest } from './requests.ts';
import { member } from './tokens.ts';

/*
 * Callers answer one request at once, at two gateway processes of one database, of which one is killed meanwhile. Every
 * caller has an answer ID of its own, which it sends again until it has a reply.
 */

const CALLERS = 24;
const WAITERS = 4;

/** The replies after which a gateway is killed, at most. */
const MAX_REPLIES_BEFORE_KILL = 12;

/** What a caller is told: the answer that won, and whether it is the caller's own. */
type Told = { isOwn: boolean; winner: Winner };
type Winner = {
  answerId: string;
  by: string;
  via: string;
  answeredAt: string;
  decision: string;
  feedback: string;
};

export type AnswerRaces = {
  /** Runs a race, and kills a gateway meanwhile unless told otherwise. */
  run(round: number, options?: { kills: boolean }): Promise<void>;
  checkFeed(): Promise<void>;
  close(): Promise<void>;
};

/** Starts the gateways. */
export async function startAnswerRaces(): Promise<AnswerRaces> {
  const database = await createTestDatabase();
  const settings = { ...settingsFor(database), LOG_LEVEL: 'error', DATABASE_TIMEOUT_MS: '60000' };
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
      const { id } = await publish(at(round + 1), userId);
      const key = { userId, id };
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

      const own = told.filter(({ isOwn }) => isOwn);
      expect(own).toHaveLength(1);
      for (const { winner } of told) expect(winner).toEqual(own[0]?.winner);
      for (const winner of awaited) expect(winner).toEqual(own[0]?.winner);
      expect(await readStored(database, key)).toEqual([own[0]?.winner.answerId, 'resolved', 'answered', 2]);
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

type Key = { userId: string; id: string };

/** Answers over GraphQL or REST. */
async function answerOnce(gateway: GatewayProcess, { userId, id }: Key, caller: number): Promise<Told> {
  const answerId = `${id}-${caller}`;
  const decision = caller % 3 === 0 ? 'REJECT' : 'APPROVE';
  const feedback = `from ${caller}`;
  const isOverRest = Math.floor(caller / 2) % 2 === 0;
  if (!isOverRest) {
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

type Shown = Omit<Winner, 'decision' | 'feedback'> & { plan: Pick<Winner, 'decision' | 'feedback'> };

function toWinner({ answerId, by, via, answeredAt, plan: { decision, feedback } }: Shown): Winner {
  return { answerId, by, via, answeredAt, decision, feedback };
}

/** Waits as the platform. */
async function awaitOnce(gateway: GatewayProcess, { userId, id }: Key): Promise<Winner> {
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
