import { beforeAll, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { signToken } from '../support/tokens.ts';

/* A service that reads lists of all users must not exhaust the memory with one request. */

const MIB = 1024 * 1024;

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await signToken({ sub: 'dashboard', scope: 'platform:read' });
  await gateway.database.sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload, payload_size,
                               request_state, occurred_at, created_at, updated_at)
     select 'user-' || n, 'n', n, 'plan_requested', 'active', 't', 'p', 'A title',
            json_build_object('toolId', 't', 'input', json_build_object('summary', 's', 'plan', repeat('x', $1::int))),
            $1::int, 'open', now(), now(), now()
       from generate_series(1, 20) n`,
    [MIB],
  );
});

const content =
  'nodes { ... on UserNotification { userId } ... on PlanRequestedNotification { payload { input } } }';

test('several lists of a request share 16 MiB, and each has at least one record', async () => {
  const lists = Array.from({ length: 10 }, (_none, index) => `a${index}: notifications { ${content} }`);
  const { text, data, errors } = await graphql(gateway, `{ platform { ${lists.join(' ')} } }`, {}, { token });
  expect(errors).toEqual([]);
  expect(text.length).toBeLessThan(17 * MIB);
  for (const { nodes } of Object.values<{ nodes: unknown[] }>(data.platform)) {
    expect(nodes).toHaveLength(1);
  }
});

test('a list that ends early continues with the next record', async () => {
  const users: string[] = [];
  let after: string | null = null;
  do {
    const query: string = `{ platform { notifications(first: 50 ${after === null ? '' : `after: "${after}"`}) {
      ${content} pageInfo { hasNextPage endCursor } } } }`;
    const { data, text } = await graphql(gateway, query, {}, { token });
    expect(text.length).toBeLessThan(17 * MIB);
    const { nodes, pageInfo } = data.platform.notifications;
    users.push(...nodes.map(({ userId }: { userId: string }) => userId));
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  } while (after !== null);
  expect(users).toHaveLength(20);
  expect(new Set(users).size).toBe(20);
});
