import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ValidationError } from '../../src/errors/gateway-errors.ts';
import { type ListArguments, toPage } from '../../src/graphql/page-arguments.ts';
import { formatPosition } from '../../src/values/cursor.ts';
import { isId, isUuid } from '../../src/values/text.ts';
import { toTime } from '../../src/values/time.ts';

/** Returns the page that a list receives for these arguments. */
const requestPage = async (args: ListArguments, isOfList = isId) => toPage(args, isOfList);

const earliest = new Date('0001-01-01T00:00:00.000Z');
const latest = new Date('9999-12-31T23:59:59.999Z');
const position = fc.record({
  createdAt: fc.date({ min: earliest, max: latest, noInvalidDate: true }).map(toTime),
  id: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }).filter(isId),
});

test('a cursor is URL-safe, and parsing it returns the position', async () => {
  const edges = [
    { createdAt: toTime(earliest), id: '\u{1F600}'.repeat(255) },
    { createdAt: toTime(latest), id: '"],[' },
  ];
  await fc.assert(
    fc.asyncProperty(position, async (position) => {
      expect(formatPosition(position)).toMatch(/^[\w-]+$/);
      expect(await requestPage({ after: formatPosition(position) })).toMatchObject({ after: position });
      expect(await requestPage({ before: formatPosition(position) })).toMatchObject({ before: position });
    }),
    { examples: edges.map((edge) => [edge]) },
  );
});

const encode = (text: string) => Buffer.from(text).toString('base64url');
const good = formatPosition({ createdAt: toTime(new Date(0)), id: 'x' });

test.each<[what: string, cursor: string]>([
  ['an empty string', ''],
  ['text that is not base64url', '%%%'],
  ['text that is not JSON', encode('[0,')],
  ['another JSON shape', encode('{"createdAt":0,"id":"x"}')],
  ['a timestamp of another type', encode('["0","x"]')],
  ['a fractional timestamp', encode('[0.5,"x"]')],
  ['a timestamp out of range', encode('[1e300,"x"]')],
  ['an invalid ID', encode('[0,""]')],
  ['an additional member', encode('[0,"x",1]')],
  ['whitespace', encode('[0, "x"]')],
  ['a trailing character', `${good}=`],
  ['the base64 alphabet instead of base64url', Buffer.from('[0,"\u{1F600}?>"]').toString('base64')],
])('rejects %s as a cursor, naming the argument', async (_what, cursor) => {
  const refused = await requestPage({ after: cursor }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ValidationError);
  expect(refused).toMatchObject({ issues: [{ path: ['after'], value: cursor }] });
});

test('rejects a cursor of another list if its ID is not valid in this list', async () => {
  await expect(requestPage({ before: good }, isUuid)).rejects.toThrow(ValidationError);
});

test('reports all errors of the page arguments at once', async () => {
  const refused = requestPage({ first: 1, last: 1, after: 'a', before: 'b' });
  await expect(refused).rejects.toMatchObject({
    issues: [{ path: ['last'] }, { path: ['after'] }, { path: ['before'] }],
  });
});
