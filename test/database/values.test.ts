import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { isId, isStorableText, isUuid } from '../../src/values/text.ts';
import { timeFromPostgres, toMilliseconds, toTime } from '../../src/values/time.ts';
import { createTestDatabase } from '../support/database.ts';

test.each<[what: string, text: string, isValidId: boolean, isStorable: boolean]>([
  ['an empty string', '', false, true],
  ['a space', ' ', true, true],
  ['255 characters of two code units', '\u{1F600}'.repeat(255), true, true],
  ['256 characters', 'a'.repeat(256), false, true],
  ['a line feed at the end', 'a\n', false, true],
  ['DEL', '\u007f', false, true],
  ['a C1 control character', '\u0085', false, true],
  ['a line separator, which is not a control character', '\u2028', true, true],
  ['a zero-width joiner, which is not a control character', '\u200d', true, true],
  ['the last code point', '\u{10FFFF}', true, true],
  ['U+0000', 'a\0b', false, false],
  ['a lone high surrogate', 'a\ud83d', false, false],
  ['a lone low surrogate', '\ude00a', false, false],
  ['surrogates in the wrong order', '\ude00\ud83d', false, false],
])('validates %s as an ID and as a text that PostgreSQL can store', (_what, text, isValidId, isStorable) => {
  expect([isId(text), isStorableText(text)]).toEqual([isValidId, isStorable]);
});

test('accepts UUIDs of any version in upper or lower case, and nothing else', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      expect([isUuid(uuid), isUuid(uuid.toUpperCase())]).toEqual([true, true]);
      expect([isUuid(`${uuid}0`), isUuid(uuid.slice(1)), isUuid(uuid.replaceAll('-', ''))]).toEqual([
        false,
        false,
        false,
      ]);
    }),
  );
  expect(isUuid('00000000-0000-0000-0000-000000000000')).toBe(true);
  expect(isUuid(`{${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}}`)).toBe(false);
});

const dates = fc.date({
  min: new Date('0001-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});

test('the order of formatted timestamps is chronological', () => {
  fc.assert(
    fc.property(dates, dates, (one, other) => {
      expect(toTime(one) < toTime(other)).toBe(one < other);
      expect(toMilliseconds(toTime(one))).toBe(Number(one));
    }),
  );
});

test.each([
  ['2026-01-31 09:30:00+00', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31 09:30:00.3+00', '2026-01-31T09:30:00.300Z'],
  ['2026-01-31 09:30:00.345+00', '2026-01-31T09:30:00.345Z'],
  ['0001-01-01 00:00:00+00', '0001-01-01T00:00:00.000Z'],
])('parses PostgreSQL’s %s as %s', (text, time) => {
  expect(timeFromPostgres(text)).toBe(time);
});

test.each(['2026-01-31 09:30:00+01', '2026-01-31 09:30:00', '0044-03-15 00:00:00+00 BC', 'infinity'])(
  'rejects PostgreSQL’s %s',
  (text) => {
    expect(() => timeFromPostgres(text)).toThrow(text);
  },
);

test.each([
  ['no options', ''],
  ['options', '?options=-c%20application_name%3Dmine'],
])(
  'reads any timestamp from PostgreSQL unchanged, in any time zone, with %s in the URL',
  async (_what, search) => {
    const database = await createTestDatabase();
    const url = `${database.url}${search}`;
    await database.sql(`alter database ${new URL(url).pathname.slice(1)} set timezone to 'Asia/Kathmandu'`);
    const opened = await openDatabase({ url, poolSize: 1, timeoutMs: 5000 });
    const pool = opened.changes;
    const times = fc.sample(dates, 500).map(toTime);
    const { rows } = await pool.query({
      text: `select at, current_setting('application_name') as name from unnest($1::timestamptz(3)[]) at`,
      values: [times],
    });
    await opened.close();
    await database.drop();

    expect(rows.map(({ at }) => at)).toEqual(times);
    expect(rows[0].name).toBe(search === '' ? '' : 'mine');
  },
);
