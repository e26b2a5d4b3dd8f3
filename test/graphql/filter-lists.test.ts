import { beforeAll, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { sendAndMeasure } from '../support/statements.ts';
import { member, platform } from '../support/tokens.ts';

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

const send = (query: string, variables = {}) => sendAndMeasure(gateway, 'alice', query, variables);

const filters: [field: string, type: string, argument: string, word: string][] = [
  ['workspaces', 'WorkspaceStatus', 'statuses', 'RUNNING'],
  ['notifications', 'NotificationStatus', 'statuses', 'ACTIVE'],
  ['notifications', 'NotificationKind', 'kinds', 'TASK_FAILED'],
];

test.each(filters)('%s accepts at most 100 filter values of type %s', async (field, type, argument, word) => {
  const query = `query ($words: [${type}!]) { ${field}(filter: { ${argument}: $words }) { totalCount } }`;

  const max = await send(query, { words: Array(100).fill(word) });
  expect(max.reply.errors).toEqual([]);
  expect(max.statements).toBeGreaterThan(0);
  for (const count of [101, 60_000]) {
    const { reply, statements, ms } = await send(query, { words: Array(count).fill(word) });
    expect(reply.errors).toHaveLength(1);
    expect(reply.errors[0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [{ location: `filter.${argument}`, message: 'must have at most 100 items' }],
    });
    expect(statements).toBe(0);
    expect(ms).toBeLessThan(2000);
  }
});

test('resolving accepts at most 100 kinds', async () => {
  const query =
    'mutation ($input: ResolveNotificationsInput!) { resolveNotifications(input: $input) { notifications { __typename } } }';
  const input = {
    userId: 'alice',
    taskId: 'task',
    reason: 'ANSWERED_ELSEWHERE',
    kinds: Array(50_000).fill('TASK_FAILED'),
  };

  const { errors } = await graphql(gateway, query, { input }, { token: await platform() });

  expect(errors[0].extensions.errors).toMatchObject([
    { location: 'input.kinds', message: 'must have at most 100 items' },
  ]);
});

test('rejects half a million invalid filter values without validating each', async () => {
  const query =
    'query ($words: [WorkspaceStatus!]) { workspaces(filter: { statuses: $words }) { totalCount } }';

  const { reply, statements, ms } = await send(query, { words: Array(500_000).fill(1) });

  expect(reply.errors[0].extensions.errors).toEqual([
    { location: 'filter.statuses', message: 'must have at most 100 items', value: '[array of 500000 items]' },
  ]);
  expect(statements).toBe(0);
  expect(ms).toBeLessThan(2000);
});

test('repeated filter values in a REST path count once', async () => {
  const { status } = await rest(gateway, 'GET', `/user/notifications?${'status=active&'.repeat(900)}`, {
    token,
  });

  expect(status).toBe(200);
});
