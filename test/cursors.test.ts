import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Page } from '../src/database/page.ts';
import { ValidationError } from '../src/errors/gateway-errors.ts';
import { connect } from '../src/graphql/connection.ts';
import type { Position } from '../src/values/cursor.ts';
import { formatPosition } from '../src/values/cursor.ts';
import { isId, isUuid } from '../src/values/text.ts';
import { toTime } from '../src/values/time.ts';

/** The page that a list would be asked for with these arguments. */
async function pageAsked(args: Parameters<typeof connect>[0], isOfList = isId): Promise<Page> {
  let asked: Page = {};
  await connect<Position>(args, undefined, {
    page: async (page) => {
      asked = page;
      return [];
    },
    totalCount: async () => 0,
    etag: async () => '"0-0"',
    selected: new Set(),
    isId: isOfList,
  });
  return asked;
}

const earliest = new Date('0001-01-01T00:00:00.000Z');
const latest = new Date('9999-12-31T23:59:59.999Z');
const position = fc.record({
  createdAt: fc.date({ min: earliest, max: latest, noInvalidDate: true }).map(toTime),
  id: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }).filter(isId),
});

test('a cursor is the place that it was made of', async () => {
  const edges = [
    { createdAt: toTime(earliest), id: '\u{1F600}'.repeat(255) },
    { createdAt: toTime(latest), id: '"],[' },
  ];
  await fc.assert(
    fc.asyncProperty(position, async (position) => {
      expect(await pageAsked({ after: formatPosition(position) })).toMatchObject({ after: position });
      expect(await pageAsked({ before: formatPosition(position) })).toMatchObject({ before: position });
    }),
    { examples: edges.map((edge) => [edge]) },
  );
});

test('a cursor can stand in an address as it is', () => {
  fc.assert(fc.property(position, (position) => /^[\w-]+$/.test(formatPosition(position))));
});

const encode = (text: string) => Buffer.from(text).toString('base64url');
const good = formatPosition({ createdAt: toTime(new Date(0)), id: 'x' });

test.each<[what: string, cursor: string]>([
  ['nothing', ''],
  ['no base64', '%%%'],
  ['no JSON', encode('[0,')],
  ['another shape', encode('{"createdAt":0,"id":"x"}')],
  ['a time of another type', encode('["0","x"]')],
  ['a time that is not whole', encode('[0.5,"x"]')],
  ['a time beyond all dates', encode('[1e300,"x"]')],
  ['an id that cannot be one', encode('[0,""]')],
  ['a member too many', encode('[0,"x",1]')],
  ['spaces inside', encode('[0, "x"]')],
  ['something behind it', `${good}=`],
  ['another alphabet', Buffer.from('[0,"\u{1F600}?>"]').toString('base64')],
])('a cursor of %s is refused by its argument', async (_what, cursor) => {
  const refused = await pageAsked({ after: cursor }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ValidationError);
  expect(refused).toMatchObject({ issues: [{ path: ['after'], value: cursor }] });
});

test('a cursor of another list is refused where its id cannot be one of this list', async () => {
  await expect(pageAsked({ before: good }, isUuid)).rejects.toThrow(ValidationError);
});

test('all issues of the page arguments are told at once', async () => {
  const refused = pageAsked({ first: 1, last: 1, after: 'a', before: 'b' });
  await expect(refused).rejects.toMatchObject({
    issues: [{ path: ['last'] }, { path: ['after'] }, { path: ['before'] }],
  });
});
