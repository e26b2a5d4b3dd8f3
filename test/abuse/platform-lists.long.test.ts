import { beforeAll, expect, test } from 'vitest';
import { insertRecords } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { signToken } from '../support/tokens.ts';

/* A service that reads lists of all users must not exhaust the memory with one request. */

const MIB = 1024 * 1024;

const gateway = useGateway();
beforeAll(async () => {
  await insertRecords(gateway.database, 'notification', 100, {
    status: "'active'",
    payload: `json_build_object('toolId', 't', 'input',
                json_build_object('summary', 's', 'plan', repeat('x', 65400)))`,
  });
  await gateway.database.sql(
    `insert into user_revision (user_id, notifications) select 'user-' || n, n from generate_series(1, 100) n`,
  );
});

const dashboard = gateway.as(() => signToken({ sub: 'dashboard', scope: 'platform:read' }));
const send = (fields: string) => dashboard.graphql(`{ platform { ${fields} } }`);
const content = 'nodes { ... on PlanRequestedNotification { payload { input } } }';
const pages = (count: number, first: number) =>
  Array.from(
    { length: count },
    (_, index) => `a${index}: notifications(first: ${first}) { ${content} }`,
  ).join(' ');
const users = (first: number) =>
  `users(first: ${first}) { nodes { notifications(first: 20) { ${content} } } }`;

test.each([
  ['pages', pages(4, 100), pages(4, 96), 4 * 96],
  ['small pages', pages(20, 20), pages(20, 19), 20 * 19],
  ['the lists of listed users', users(20), users(18), 18],
])('%s of a request have at most 26 MiB, which their cost limits', async (_what, tooMany, most, count) => {
  const refused = await send(tooMany);
  expect([refused.status, refused.errors[0].message]).toEqual([
    400,
    expect.stringContaining('limit for cost'),
  ]);
  const { text, errors } = await send(most);
  expect(errors).toEqual([]);
  expect(text.length).toBeGreaterThan(count * 65_400);
  expect(text.length).toBeLessThan(26 * MIB);
});
