import type pg from 'pg';
import { z } from 'zod';
import { type Bench, withServer } from './bench.ts';
import type { Caller } from './callers.ts';
import { type ComparisonResult, compareSamples } from './comparison.ts';
import { createGatewaySettings } from './contenders.ts';
import { finishDataSet, insertNotifications, listNames } from './data-set.ts';
import { startGateway } from './gateway-process.ts';
import { reportProgress } from './output.ts';
import { runRounds, type Subject } from './rounds.ts';
import { takeSample } from './sample.ts';
import type { ServerProcess } from './server-process.ts';
import { distribute } from './workload.ts';
import { requestInbox } from './workloads.ts';

/*
 * Measures whether the cost of a page depends on the number of stored notifications, by the same requests with 10,000
 * and 1,000,000 of them. Half of them belong to one user, the other half to users with 100 each.
 */

const SMALL = 10_000;
const LARGE = 1_000_000;
const QUICK_LARGE = 100_000;
/** Notifications of each small user. */
const NOTIFICATIONS_EACH = 100;
/** Small users that send requests. */
const CALLING_USERS = 50;
const CONNECTIONS = 32;
/** The cost may differ by a factor of 1.2. */
const TARGET = 1 / 1.2;

/** Measures pages with few and with many stored notifications. */
export async function measureGrowth(bench: Bench): Promise<ComparisonResult[]> {
  const large = bench.options.isQuick ? QUICK_LARGE : LARGE;
  const largeUser = await signCaller(bench, 'large-1');
  const smallUsers = await Promise.all(
    listNames({ prefix: 'small', users: CALLING_USERS, each: NOTIFICATIONS_EACH }).map((sub) =>
      signCaller(bench, sub),
    ),
  );
  return withServer(startGatewayWith(bench, SMALL), (few) =>
    withServer(startGatewayWith(bench, large), async (many) => {
      const createSubject = (
        title: string,
        server: ServerProcess,
        callers: readonly Caller[],
        after?: string,
      ): Subject => ({
        title,
        targets: { rate: TARGET },
        run: () => takeSample(bench, server, distribute(callers, CONNECTIONS, requestInbox(after))),
      });
      const one = Array.from({ length: CONNECTIONS }, () => largeUser);
      const deep = await readDeepCursor(many.address, largeUser);
      const comparisons = [
        {
          title: 'First page of one user with half of all notifications',
          subjects: [
            createSubject(formatStored(large), many, one),
            createSubject(formatStored(SMALL), few, one),
          ],
        },
        {
          title: `First pages of ${CALLING_USERS} users with ${NOTIFICATIONS_EACH} notifications`,
          subjects: [
            createSubject(formatStored(large), many, smallUsers),
            createSubject(formatStored(SMALL), few, smallUsers),
          ],
        },
        {
          title: `Pages of one user with ${(large / 2).toLocaleString('en')} notifications`,
          subjects: [
            createSubject('one of the last', many, one, deep),
            createSubject('the first', many, one),
          ],
        },
      ];
      return compareSamples(await runRounds(comparisons, bench.options));
    }),
  );
}

const formatStored = (stored: number) => `${stored.toLocaleString('en')} stored`;

async function startGatewayWith({ postgres, issuer }: Bench, stored: number): Promise<ServerProcess> {
  reportProgress(`Storing ${stored.toLocaleString('en')} notifications`);
  const databaseUrl = await postgres.createDatabase(`stored_${stored}`, (client) => fill(client, stored));
  return startGateway(createGatewaySettings({ databaseUrl, issuer }));
}

async function fill(client: pg.Client, stored: number): Promise<void> {
  const half = stored / 2;
  await insertNotifications(client, { prefix: 'large', users: 1, each: half });
  await insertNotifications(client, {
    prefix: 'small',
    users: half / NOTIFICATIONS_EACH,
    each: NOTIFICATIONS_EACH,
  });
  await finishDataSet(client);
}

async function signCaller({ issuer }: Bench, userId: string): Promise<Caller> {
  return { userId, token: await issuer.sign({ sub: userId }), notificationIds: [] };
}

const LastPage = z.object({
  data: z.object({ notifications: z.object({ pageInfo: z.object({ startCursor: z.string() }) }) }),
});

/** Reads the cursor of a user's 100th oldest notification. */
async function readDeepCursor(address: string, { token }: Caller): Promise<string> {
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: '{ notifications(last: 100) { pageInfo { startCursor } } }' }),
  });
  return LastPage.parse(await response.json()).data.notifications.pageInfo.startCursor;
}
