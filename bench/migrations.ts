import { setTimeout as pause } from 'node:timers/promises';
import { IndexMigration } from '../src/database/index-migration.ts';
import { migrate } from '../src/database/migrate.ts';
import { withServer } from './bench.ts';
import { createNotification } from './change-requests.ts';
import { createGatewaySettings } from './contenders.ts';
import { finishDataSet, insertNotifications } from './data-set.ts';
import { startGateway } from './gateway-process.ts';
import { createIssuer } from './issuer.ts';
import { readOptions } from './options.ts';
import { printLine, printTable, reportProgress } from './output.ts';
import { startPostgres } from './postgres.ts';
import { quantile } from './statistics.ts';

/*
 * Measures how long publishing takes while a migration replaces an index of many notifications. `--seconds` sets the
 * time to measure before the migration; `--quick` stores fewer notifications.
 */

const STORED = 2_000_000;
const QUICK_STORED = 20_000;
/** Notifications of each user. */
const NOTIFICATIONS_EACH = 100;
const INTERVAL_MS = 100;
const WARM_UP_SECONDS = 2;
/** A publication should take no longer. */
const TARGET_MS = 1000;

class ReplaceIndex extends IndexMigration {
  override name = 'Migration20990101000000_replace_index';
  override create = [
    {
      name: 'notification_bench',
      on: `"notification" ("user_id", "task_id", "kind", "occurred_at")`,
    },
  ];
  override drop = ['notification_of_slot'];
}

/** The duration of some work, and how long each publication during it took, in milliseconds. */
type Measurement = { duration: number; delays: number[] };

async function main(): Promise<void> {
  const { isQuick, seconds } = readOptions(process.argv.slice(2), [], {
    usual: { rounds: 1, seconds: 20 },
    quick: { rounds: 1, seconds: 5 },
  });
  const stored = isQuick ? QUICK_STORED : STORED;
  const users = stored / NOTIFICATIONS_EACH;
  const issuer = await createIssuer();
  const token = await issuer.sign({ sub: 'platform-service', scope: 'platform:notifications' });
  const postgres = await startPostgres();
  try {
    reportProgress(`Storing ${stored.toLocaleString('en')} notifications`);
    const databaseUrl = await postgres.createDatabase('bench', async (client) => {
      await insertNotifications(client, { prefix: 'user', users, each: NOTIFICATIONS_EACH });
      await finishDataSet(client);
    });
    await withServer(startGateway(createGatewaySettings({ databaseUrl, issuer })), async ({ address }) => {
      const measure = (name: string, work: () => Promise<unknown>) => {
        reportProgress(`Publishing: ${name}`);
        const publish = (index: number) =>
          publishOne(address, token, `user-${(index % users) + 1}`, `${name}-${index}`);
        return measureDuring(work, publish);
      };
      await measure('warm-up', () => pause(WARM_UP_SECONDS * 1000));
      const before = await measure('before', () => pause(seconds * 1000));
      const during = await measure('during', () => migrate(databaseUrl, { migrations: [ReplaceIndex] }));
      printMeasurements({ 'before the migration': before, 'during the migration': during });
      const longest = Math.max(...during.delays);
      printLine(`Target: at most ${TARGET_MS} ms, ${longest <= TARGET_MS ? 'met' : 'missed'}.`);
    });
  } finally {
    await postgres.stop();
  }
}

/** Publishes at a fixed rate until `work` ends. A delay begins when the publication is due. */
async function measureDuring(
  work: () => Promise<unknown>,
  publish: (index: number) => Promise<void>,
): Promise<Measurement> {
  const started = performance.now();
  let duration: number | undefined;
  const publishAll = async () => {
    const delays: Promise<number>[] = [];
    while (duration === undefined) {
      const due = started + delays.length * INTERVAL_MS;
      await pause(Math.max(0, due - performance.now()));
      const publication = publish(delays.length).then(() => performance.now() - due);
      delays.push(publication.catch(reportFailure));
    }
    return Promise.all(delays);
  };
  const finish = () => {
    duration = performance.now() - started;
  };
  const [delays] = await Promise.all([publishAll(), work().finally(finish)]);
  return { duration: duration ?? Number.NaN, delays };
}

/** A failed publication counts as one that never ends. */
function reportFailure(error: unknown): number {
  reportProgress(String(error));
  return Number.POSITIVE_INFINITY;
}

const PUBLISH = `mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }`;

async function publishOne(address: string, token: string, userId: string, id: string): Promise<void> {
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: PUBLISH, variables: { input: createNotification(userId, id) } }),
  });
  const text = await response.text();
  if (text !== '{"data":{"publishNotification":{"created":true}}}') throw new Error(text);
}

function printMeasurements(measurements: Record<string, Measurement>): void {
  const millis = (value: number) => `${value.toFixed(0)} ms`;
  printTable([
    ['', 'duration', 'published', 'p50', 'p99', 'longest'],
    ...Object.entries(measurements).map(([name, { duration, delays }]) => [
      name,
      `${(duration / 1000).toFixed(1)} s`,
      `${delays.length}`,
      millis(quantile(delays, 0.5)),
      millis(quantile(delays, 0.99)),
      millis(Math.max(...delays)),
    ]),
  ]);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
