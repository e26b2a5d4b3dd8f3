import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { addTargets, unreachableProviders } from '../support/delivery.ts';
import { useGateway } from '../support/gateway.ts';
import { platform, signTaskToken } from '../support/tokens.ts';

/*
 * A runner publishes for an hour as much as its limit of requests allows, of what takes most space: as long as there is
 * room, responses that nobody is asked about, then requests that supersede one another.
 */

const PER_HOUR = 60 * 30;
const CONNECTIONS = 4;
const MIB = 2 ** 20;

const gateway = useGateway({ ...unreachableProviders, DELIVERY: 'false' });

/** Returns text that PostgreSQL cannot compress. */
const fill = (bytes: number) => randomBytes(bytes).toString('base64').slice(0, bytes);

const largestResult = () => ({ taskFailed: { taskStatus: 'ERRORED', message: fill(16_000) } });
const largestPlan = () => ({
  planRequested: { toolId: 'tool', input: { summary: fill(1000), plan: fill(62_000) } },
});

test('a task token stores at most 16 MiB in an hour, and sends 12 notifications and 30 requests', async () => {
  const token = await signTaskToken('alice', 't');
  await addTargets(gateway, 'alice');
  const query = `mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }`;
  const outcomes = new Map<string, number>();
  let sent = 0;
  const run = async () => {
    while (sent < PER_HOUR) {
      sent += 1;
      const isPlan = sent > PER_HOUR / 4;
      const input = {
        userId: 'alice',
        task: { id: 't', projectId: 'p', name: fill(255) },
        title: fill(500),
        previewText: isPlan ? fill(8000) : fill(10_000),
        payload: isPlan ? largestPlan() : largestResult(),
      };
      const { errors } = await graphql(gateway, query, { input }, { token });
      const outcome = errors[0]?.extensions.reason ?? errors[0]?.message ?? 'stored';
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));

  const tables = ['notification', 'delivery', 'task_resolution', 'platform_event', 'user_revision'];
  let bytes = 0;
  for (const table of tables) {
    const [row] = await gateway.database.sql(
      `select coalesce(sum(octet_length(t::text)), 0)::int as bytes from ${table} t where user_id = 'alice'`,
    );
    bytes += Number(row?.bytes);
  }
  const sizes = `${(bytes / MIB).toFixed(1)} MiB after ${JSON.stringify(Object.fromEntries(outcomes))}`;
  expect([...outcomes.keys()].sort(), sizes).toEqual(['LIMIT_REACHED', 'stored']);
  expect(bytes, sizes).toBeLessThan(16 * MIB);
  expect(bytes, sizes).toBeGreaterThan(12 * MIB);
  const messages = await gateway.database.sql(
    `select kind, count(distinct notification_id)::int as sent, count(*)::int as stored
       from delivery join notification n on (n.user_id, n.id) = (delivery.user_id, notification_id)
      where n.user_id = 'alice' group by kind order by kind`,
  );
  expect(messages).toEqual([
    { kind: 'plan_requested', sent: 30, stored: 90 },
    { kind: 'task_failed', sent: 12, stored: 36 },
  ]);

  // The task has no room until its notifications are deleted; the platform can still publish for it.
  const input = { userId: 'alice', task: { id: 't', projectId: 'p' }, title: 'x', payload: largestResult() };
  expect((await graphql(gateway, query, { input }, { token: await platform() })).errors).toEqual([]);
}, 300_000);
