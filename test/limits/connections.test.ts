import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { asMember, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { recordStatements } from '../support/statements.ts';

/* Both lists use the same connection code; these tests use notifications. */

const COUNT = 12;
const gateway = useGateway();
/** The user's notifications, newest first; each timestamp is shared by three of them. */
let all: string[];
beforeAll(async () => {
  for (let n = 0; n < COUNT; n += 1) {
    await publish(gateway, 'alice', n % 4 === 0 ? 'plan_requested' : 'task_failed', { id: `n-${n}` });
  }
  await gateway.database.sql(
    `update notification
        set created_at = timestamptz '2026-01-01' + (substr(id, 3)::int / 3) * interval '1 ms'`,
  );
  all = (await readPage('(first: 100)')).ids;
});

type Page = { ids: string[]; cursors: string[]; info: Record<string, unknown> };

async function readPage(args: string): Promise<Page> {
  const { notifications } = await asMember(
    gateway,
    'alice',
    `{ notifications${args} {
      edges { cursor node { ... on UserNotification { id } } }
      nodes { ... on UserNotification { id } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    } }`,
  );
  const ids = notifications.nodes.map(({ id }: { id: string }) => id);
  expect(notifications.edges.map(({ node }: { node: { id: string } }) => node.id)).toEqual(ids);
  const cursors = notifications.edges.map(({ cursor }: { cursor: string }) => cursor);
  const { pageInfo } = notifications;
  expect(pageInfo).toMatchObject({ startCursor: cursors[0] ?? null, endCursor: cursors.at(-1) ?? null });
  return { ids, cursors, info: { next: pageInfo.hasNextPage, previous: pageInfo.hasPreviousPage } };
}

test('a page reports whether records precede and follow it', async () => {
  const whole = await readPage('(first: 12)');
  expect(whole).toMatchObject({ ids: all, info: { next: false, previous: false } });
  const [first, , third] = whole.cursors;

  expect(await readPage('(first: 3)')).toMatchObject({
    ids: all.slice(0, 3),
    info: { next: true, previous: false },
  });
  expect(await readPage(`(first: 3, after: "${third}")`)).toMatchObject({
    ids: all.slice(3, 6),
    info: { next: true, previous: true },
  });
  expect(await readPage(`(first: 9, after: "${third}")`)).toMatchObject({
    ids: all.slice(3),
    info: { next: false, previous: true },
  });
  expect(await readPage('(last: 3)')).toMatchObject({
    ids: all.slice(-3),
    info: { next: false, previous: true },
  });
  expect(await readPage(`(last: 2, before: "${third}")`)).toMatchObject({
    ids: all.slice(0, 2),
    info: { next: true, previous: false },
  });
  expect(await readPage(`(last: 2, before: "${first}")`)).toMatchObject({
    ids: [],
    info: { next: true, previous: false },
  });
});

test('after and before together limit the list at both ends, with first or last', async () => {
  const { cursors } = await readPage('');
  const between = `after: "${cursors[1]}", before: "${cursors[9]}"`;
  expect((await readPage(`(${between})`)).ids).toEqual(all.slice(2, 9));
  expect((await readPage(`(first: 2, ${between})`)).ids).toEqual(all.slice(2, 4));
  expect((await readPage(`(last: 2, ${between})`)).ids).toEqual(all.slice(7, 9));
  expect((await readPage(`(after: "${cursors[9]}", before: "${cursors[1]}")`)).ids).toEqual([]);
});

test('an empty page has no cursors', async () => {
  expect(await readPage('(filter: { statuses: DISMISSED })')).toEqual({
    ids: [],
    cursors: [],
    info: { next: false, previous: false },
  });
});

test('pages of any sizes, forwards or backwards, add up to the whole list', async () => {
  const sizes = fc.infiniteStream(fc.integer({ min: 1, max: 7 }));
  await fc.assert(
    fc.asyncProperty(sizes, fc.boolean(), async (sizes, backwards) => {
      const read: string[] = [];
      let from = '';
      for (const size of sizes) {
        const page = await readPage(`(${backwards ? 'last' : 'first'}: ${size}${from})`);
        if (backwards) read.unshift(...page.ids);
        else read.push(...page.ids);
        expect(page.ids).toHaveLength(Math.min(size, COUNT - (read.length - page.ids.length)));
        const cursor = backwards ? page.cursors[0] : page.cursors.at(-1);
        from = `, ${backwards ? 'before' : 'after'}: "${cursor}"`;
        if (!(backwards ? page.info.previous : page.info.next)) break;
      }
      expect(read).toEqual(all);
    }),
    { numRuns: 10 },
  );
});

test('a page has 50 records by default and at most 100', async () => {
  const workspaces = Array.from({ length: 130 }, () => workspaceInput());
  await putWorkspaces(gateway, 'bob', workspaces);
  const countNodes = async (args: string) => {
    const query = `{ workspaces${args} { nodes { id } totalCount } }`;
    const data = await asMember(gateway, 'bob', query);
    expect(data.workspaces.totalCount).toBe(130);
    return data.workspaces.nodes.length;
  };
  expect(await countNodes('')).toBe(50);
  expect(await countNodes('(first: null)')).toBe(50);
  expect(await countNodes('(first: 100)')).toBe(100);
  expect(await countNodes('(last: 100)')).toBe(100);
});

test('totalCount counts the whole filtered list, independent of the page', async () => {
  const { cursors } = await readPage('');
  const total = async (args: string) =>
    (await asMember(gateway, 'alice', `{ notifications${args} { totalCount } }`)).notifications.totalCount;
  expect(await total('')).toBe(COUNT);
  expect(await total(`(first: 1, after: "${cursors[3]}")`)).toBe(COUNT);
  expect(await total('(filter: { kinds: PLAN_REQUESTED }, last: 1)')).toBe(3);
  expect(await total('(filter: { statuses: [DISMISSED, RESOLVED] })')).toBe(0);
});

test('totalCount runs a count only if selected', async () => {
  for (const list of ['notifications', 'workspaces']) {
    const findCounts = async (field: string) => {
      const query = `{ ${list} { pageInfo { hasNextPage } ${field} } }`;
      const statements = await recordStatements(() => asMember(gateway, 'alice', query));
      expect(statements.length).toBeGreaterThan(0);
      return statements.filter(({ text }) => text.includes('count(')).length;
    };
    expect(await findCounts('')).toBe(0);
    expect(await findCounts('totalCount')).toBe(1);
  }
});
