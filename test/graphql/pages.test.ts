import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { ValidationError } from '../../src/errors/gateway-errors.ts';
import { type ListArguments, SCAN_LIMIT, toPage } from '../../src/graphql/page-arguments.ts';
import { formatPosition } from '../../src/values/cursor.ts';
import { isId, isUuid } from '../../src/values/text.ts';
import { toTime } from '../../src/values/time.ts';
import { fillTables } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';

const USER = 'collector';
/** More than two pages scan. */
const MANY = 2 * SCAN_LIMIT + 500;

/**
 * The records in the order of the list. Only those at its ends have the kind `task_failed`. Two records each have the
 * same time, and the first 1000 tasks have two notifications.
 */
const records = Array.from({ length: MANY }, (_, index) => ({
  id: `n-${String(MANY - index).padStart(5, '0')}`,
  kind:
    index < 20 || index >= MANY - 20
      ? 'task_failed'
      : ['plan_requested', 'question_requested'][Math.floor(index / 1000) % 2],
  status: ['active', 'resolved', 'dismissed'][(index % 7) % 3],
  projectId: index % 11 === 0 ? 'rare' : 'usual',
  taskId: `task-${index % 1000}-${index < 2000 ? 'new' : index}`,
  createdAt: new Date(Date.UTC(2026, 4) - Math.floor(index / 2) * 1000).toISOString(),
}));
type Listed = (typeof records)[number];

const gateway = useGateway();
const collector = gateway.as(USER);
beforeAll(async () => {
  await fillTables(gateway.database, ['notification'], () =>
    gateway.database.sql(
      `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                                 request_state, occurred_at, created_at, updated_at)
       select user_id, id, row_number() over (), kind, status, "taskId", "projectId", 'A title', '{}',
              'none', now(), "createdAt", now()
         from unnest($2::text[]) as user_id, jsonb_to_recordset($1)
           as record (id text, kind text, status text, "taskId" text, "projectId" text, "createdAt" timestamptz)`,
      [JSON.stringify(records), [USER, 'another']],
    ),
  );
});

const QUERY = `query (
  $first: Int, $after: String, $last: Int, $before: String, $filter: NotificationFilter
) {
  notifications(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
    totalCount
    edges { cursor node { ... on UserNotification { id } } }
    nodes { ... on UserNotification { id } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

/** Reads a page, in which edges and nodes must be the same. */
async function readPage(variables: object) {
  const { nodes, edges, ...page } = (await collector.run(QUERY, { ...variables })).notifications;
  expect(edges.map(({ node }: { node: object }) => node)).toEqual(nodes);
  const cursors: string[] = edges.map(({ cursor }: { cursor: string }) => cursor);
  return { ...page, cursors, ids: nodes.map(({ id }: { id: string }) => id) };
}

type Filter = {
  kinds?: string[];
  statuses?: string[];
  projectIds?: string[];
  taskIds?: string[];
  createdFrom?: string;
  createdBefore?: string;
};

/** Follows all pages in one direction, and returns their IDs and the total count. */
async function followPages(filter: Filter, size: number, isBackwards: boolean) {
  const pages: string[][] = [];
  for (let cursor: string | null = null; ; ) {
    const page = isBackwards ? { last: size, before: cursor } : { first: size, after: cursor };
    const { ids, totalCount, pageInfo } = await readPage({ filter, ...page });
    pages.push(ids);
    if (!(isBackwards ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)) return { pages, totalCount };
    cursor = isBackwards ? pageInfo.startCursor : pageInfo.endCursor;
    expect(cursor).toEqual(expect.any(String));
  }
}

function matches(
  { kinds, statuses, projectIds, taskIds, createdFrom, createdBefore }: Filter,
  record: Listed,
) {
  const isIn = (values: string[] | undefined, value: string | undefined) =>
    values === undefined || values.some((name) => name.toLowerCase() === value);
  return (
    isIn(kinds, record.kind) &&
    isIn(statuses, record.status) &&
    isIn(projectIds, record.projectId) &&
    isIn(taskIds, record.taskId) &&
    (createdFrom ?? '') <= record.createdAt &&
    record.createdAt < (createdBefore ?? '3')
  );
}

const times = fc.nat(MANY - 1).map((index) => records[index]?.createdAt ?? expect.unreachable());
const filters: fc.Arbitrary<Filter> = fc.record(
  {
    kinds: fc.subarray(['PLAN_REQUESTED', 'QUESTION_REQUESTED', 'TASK_FAILED', 'TASK_RESPONSE_READY']),
    statuses: fc.subarray(['ACTIVE', 'RESOLVED', 'DISMISSED']),
    projectIds: fc.subarray(['rare', 'usual', 'unknown']),
    taskIds: fc.subarray(['task-7-new', 'task-8-new', `task-0-${SCAN_LIMIT}`]),
    createdFrom: times,
    createdBefore: times,
  },
  { requiredKeys: [] },
);

test('following the pages of any filter returns each matching record once, in order', async () => {
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 30, max: 100 }), fc.boolean(), async (filter, size, back) => {
      const expected = records.filter((record) => matches(filter, record)).map(({ id }) => id);
      const { pages, totalCount } = await followPages(filter, size, back);
      expect(pages.flatMap((page) => (back ? page.toReversed() : page))).toEqual(
        back ? expected.toReversed() : expected,
      );
      expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(size);
      expect(totalCount).toBe(expected.length);
    }),
    { numRuns: 60, endOnFailure: true },
  );
});

test.each([false, true])('a page ends after checking 2,000 records (backwards: %s)', async (isBackwards) => {
  const sizes = async (filter: Filter, size: number) =>
    (await followPages(filter, size, isBackwards)).pages.map(({ length }) => length);

  expect(await sizes({ kinds: ['TASK_FAILED'] }, 20)).toEqual([20, 0, 0, 20]);
  expect(await sizes({ kinds: ['TASK_FAILED'] }, 50)).toEqual([20, 0, 20]);
  expect(await sizes({ projectIds: ['unknown'] }, 50)).toEqual([0, 0, 0]);
});

test('pages by a task or only by the status ACTIVE are full', async () => {
  expect((await followPages({ taskIds: [`task-0-${MANY - 500}`] }, 50, false)).pages).toHaveLength(1);
  const { pages } = await followPages({ statuses: ['ACTIVE'] }, 100, false);
  expect(pages.slice(0, -1).every(({ length }) => length === 100)).toBe(true);
});

test('an empty page can be followed in both directions', async () => {
  const read = (page: object) => readPage({ filter: { kinds: ['TASK_FAILED'] }, ...page });
  const first = await read({ first: 20 });
  const empty = await read({ first: 20, after: first.pageInfo.endCursor });
  expect(empty).toMatchObject({ ids: [], pageInfo: { hasNextPage: true, hasPreviousPage: true } });
  const previous = await read({ last: 20, before: empty.pageInfo.startCursor });
  expect(previous.pageInfo.hasPreviousPage).toBe(true);
  const start = await read({ last: 20, before: previous.pageInfo.startCursor });
  expect([...start.ids, ...previous.ids]).toEqual(first.ids);
});

describe('a page of the whole list', () => {
  const all = records.map(({ id }) => id);

  test('reports its cursors, and whether records precede and follow it', async () => {
    const { cursors } = await readPage({ first: 9 });
    const [first = '', , third = ''] = cursors;
    for (const [page, ids, hasPreviousPage, hasNextPage] of [
      [{ first: 3 }, all.slice(0, 3), false, true],
      [{ first: 3, after: third }, all.slice(3, 6), true, true],
      [{ last: 3 }, all.slice(-3), true, false],
      [{ last: 2, before: third }, all.slice(0, 2), false, true],
      [{ last: 2, before: first }, [], false, true],
      // Both ends of the list can be limited, with first or last.
      [{ after: cursors[1], before: cursors[8] }, all.slice(2, 8), true, false],
      [{ first: 2, after: cursors[1], before: cursors[8] }, all.slice(2, 4), true, true],
      [{ last: 2, after: cursors[1], before: cursors[8] }, all.slice(6, 8), true, true],
    ] as const) {
      const found = await readPage(page);
      expect(found, JSON.stringify(page)).toMatchObject({ ids, totalCount: MANY });
      expect(found.pageInfo, JSON.stringify(page)).toEqual({
        hasPreviousPage,
        hasNextPage,
        startCursor: found.cursors[0] ?? null,
        endCursor: found.cursors.at(-1) ?? null,
      });
    }
    expect((await readPage({ after: cursors[8], before: cursors[1] })).ids).toEqual([]);
  });

  test('without records has no cursors', async () => {
    const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null };
    const page = await readPage({ filter: { projectIds: ['unknown'], taskIds: ['unknown'] } });
    expect(page).toEqual({ ids: [], cursors: [], totalCount: 0, pageInfo });
  });

  test('has 50 records by default', async () => {
    for (const page of [{}, { first: null }]) expect((await readPage(page)).ids).toEqual(all.slice(0, 50));
  });
});

describe('a cursor', () => {
  const requestPage = async (args: ListArguments, isOfList = isId) => toPage(args, isOfList);
  const [earliest, latest] = [new Date('0001-01-01T00:00:00.000Z'), new Date('9999-12-31T23:59:59.999Z')];
  const position = fc.record({
    createdAt: fc.date({ min: earliest, max: latest, noInvalidDate: true }).map(toTime),
    id: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }).filter(isId),
  });

  test('is URL-safe, and parsing it returns the position', async () => {
    const edges = [
      { createdAt: toTime(earliest), id: '\u{1F600}'.repeat(255) },
      { createdAt: toTime(latest), id: '"],[' },
    ];
    await fc.assert(
      fc.asyncProperty(position, async (position) => {
        const cursor = formatPosition(position);
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(await requestPage({ after: cursor })).toMatchObject({ after: position });
        expect(await requestPage({ before: cursor })).toMatchObject({ before: position });
      }),
      { examples: edges.map((edge) => [edge]) },
    );
  });

  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const good = formatPosition({ createdAt: toTime(new Date(0)), id: 'x' });

  test.each([
    ...['', '%%%', `${good}=`, Buffer.from('[0,"\u{1F600}?>"]').toString('base64')],
    ...['[0,', '{"createdAt":0,"id":"x"}', '["0","x"]', '[0.5,"x"]', '[1e300,"x"]', '[0,""]'].map(encode),
    ...['[0,"x",1]', '[0, "x"]'].map(encode),
  ])('is not %s, and the error names the argument', async (cursor) => {
    const refused = await requestPage({ after: cursor }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ValidationError);
    expect(refused).toMatchObject({ issues: [{ path: ['after'], value: cursor }] });
  });

  test('of another list is rejected if its ID is not valid in this list', async () => {
    await expect(requestPage({ before: good }, isUuid)).rejects.toThrow(ValidationError);
  });

  test('that is invalid is reported together with all other errors of the page arguments', async () => {
    const refused = requestPage({ first: 1, last: 1, after: 'a', before: 'b' });
    await expect(refused).rejects.toMatchObject({
      issues: [{ path: ['last'] }, { path: ['after'] }, { path: ['before'] }],
    });
  });
});
