import type pg from 'pg';
import { z } from 'zod';
import { type Bench, during } from './bench.ts';
import type { Caller } from './callers.ts';
import { type Standing, standingsOf } from './comparison.ts';
import { gatewaySettings } from './contenders.ts';
import { finishDataSet, insertNotifications, namesOf } from './data-set.ts';
import { startGateway } from './gateway-process.ts';
import { type Entrant, playRounds } from './rounds.ts';
import { sampleOf } from './sample.ts';
import { tell } from './say.ts';
import type { ServerProcess } from './server-process.ts';
import { deal } from './work.ts';
import { askForInbox } from './works.ts';

/*
 * A page must cost what it costs however much is stored: half of the notifications are one user's long history, the
 * other half belongs to many users of 100 each. The same users ask for the same pages where 10,000 are stored and
 * where 1,000,000 are.
 */

const SMALL = 10_000;
const LARGE = 1_000_000;
const LARGE_WHEN_QUICK = 100_000;
/** Of a user with a short history. */
const EACH = 100;
/** Users with a short history that ask. */
const ASKING = 50;
const CONNECTIONS = 32;
/** Within 1.2 of the price. */
const TARGET = 1 / 1.2;

/** Measures pages where few and where many notifications are stored. */
export async function measureGrowth(bench: Bench): Promise<Standing[]> {
  const large = bench.options.isQuick ? LARGE_WHEN_QUICK : LARGE;
  const veteran = await callerOf(bench, 'veteran-1');
  const crowd = await Promise.all(
    namesOf({ prefix: 'crowd', users: ASKING, each: EACH }).map((sub) => callerOf(bench, sub)),
  );
  return during(startOn(bench, SMALL), (few) =>
    during(startOn(bench, large), async (many) => {
      const page = (
        title: string,
        server: ServerProcess,
        callers: readonly Caller[],
        after?: string,
      ): Entrant => ({
        title,
        targets: { rate: TARGET },
        run: () => sampleOf(bench, server, deal(callers, CONNECTIONS, askForInbox(after))),
      });
      const one = Array.from({ length: CONNECTIONS }, () => veteran);
      const deep = await deepCursor(many.address, veteran);
      const contests = [
        {
          title: `First page of one user with half of all notifications`,
          entrants: [page(titleOf(large), many, one), page(titleOf(SMALL), few, one)],
        },
        {
          title: `First pages of ${ASKING} users of ${EACH} notifications`,
          entrants: [page(titleOf(large), many, crowd), page(titleOf(SMALL), few, crowd)],
        },
        {
          title: `Pages of one user with ${(large / 2).toLocaleString('en')} notifications`,
          entrants: [page('one of the last', many, one, deep), page('the first', many, one)],
        },
      ];
      return standingsOf(await playRounds(contests, bench.options));
    }),
  );
}

const titleOf = (stored: number) => `${stored.toLocaleString('en')} stored`;

async function startOn({ postgres, issuer }: Bench, stored: number): Promise<ServerProcess> {
  tell(`Storing ${stored.toLocaleString('en')} notifications`);
  const databaseUrl = await postgres.createDatabase(`stored_${stored}`, (client) => fill(client, stored));
  return startGateway(gatewaySettings({ databaseUrl, issuer }));
}

async function fill(client: pg.Client, stored: number): Promise<void> {
  const half = stored / 2;
  await insertNotifications(client, { prefix: 'veteran', users: 1, each: half });
  await insertNotifications(client, { prefix: 'crowd', users: half / EACH, each: EACH });
  await finishDataSet(client);
}

async function callerOf({ issuer }: Bench, userId: string): Promise<Caller> {
  return { userId, token: await issuer.sign({ sub: userId }), notificationIds: [] };
}

const LastPage = z.object({
  data: z.object({ notifications: z.object({ pageInfo: z.object({ startCursor: z.string() }) }) }),
});

/** Where the last hundred notifications of a user begin. */
async function deepCursor(address: string, { token }: Caller): Promise<string> {
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: '{ notifications(last: 100) { pageInfo { startCursor } } }' }),
  });
  return LastPage.parse(await response.json()).data.notifications.pageInfo.startCursor;
}
