import { describe, expect, test } from 'vitest';
import { createEventScanner } from '../bench/event-scanner.ts';
import { findHighestRate, type Rate } from '../bench/live-rates.ts';
import { createReplyReader } from '../bench/raw-http.ts';

/** Gives a text to a reader in two pieces, cut at every place in turn, and returns what each reader found. */
function inTwoPieces<Found>(
  text: string,
  createReader: (take: (found: Found) => void) => (text: string) => void,
): Found[][] {
  return Array.from({ length: text.length + 1 }, (_none, cut) => {
    const found: Found[] = [];
    const read = createReader((one) => found.push(one));
    read(text.slice(0, cut));
    read(text.slice(cut));
    return found;
  });
}

test('the number of every event is found once, wherever its text is cut', () => {
  const eventOf = (number: number) =>
    `event: next\ndata: {"data":{"notificationEvents":{"notification":{"id":"event-${number}","kind":"A"}}}}\n\n`;
  const text = `:\n\n${eventOf(7)}${eventOf(12_345_678)}:\n\n${eventOf(0)}`;

  for (const found of inTwoPieces(text, createEventScanner)) expect(found).toEqual([7, 12_345_678, 0]);
});

test('every reply is found once, wherever its text is cut', () => {
  const replyOf = (body: string) =>
    `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nX-A: b\r\n\r\n${body}`;
  const replies = [replyOf('{"a":1}'), replyOf(''), replyOf('\r\n\r\n{"b":2}')];

  for (const found of inTwoPieces(replies.join(''), createReplyReader)) expect(found).toEqual(replies);
});

test('a reply without a length is an error, for its end cannot be found', () => {
  expect(() => createReplyReader(() => undefined)('HTTP/1.1 200 OK\r\n\r\n')).toThrow('no Content-Length');
});

describe('the highest rate', () => {
  const rateOf = (perSecond: number, p99s: number[], missing = 0): Rate => ({
    perSecond,
    runs: p99s.map((p99) => ({
      published: 100,
      missing,
      duplicates: 0,
      failures: 0,
      delays: { p50: 1, p99, max: p99 },
      loadCpu: 0.1,
      gatewayMicros: 1,
      postgresMicros: 1,
      memory: 1,
    })),
  });

  test.each<[what: string, rates: Rate[], highest: number | undefined]>([
    [
      'is the last one before p99 is too high',
      [rateOf(100, [9]), rateOf(200, [99]), rateOf(400, [101])],
      200,
    ],
    ['is the last one of all that are fast enough', [rateOf(100, [9]), rateOf(200, [99])], 200],
    ['is found by medians', [rateOf(100, [9]), rateOf(200, [900, 99, 98]), rateOf(400, [9, 100, 100])], 200],
    [
      'needs every lower rate to be fast enough',
      [rateOf(100, [9]), rateOf(200, [101]), rateOf(400, [9])],
      100,
    ],
    ['needs every event to arrive', [rateOf(100, [9]), rateOf(200, [9], 1)], 100],
    ['does not exist if the first is too slow', [rateOf(100, [101]), rateOf(200, [9])], undefined],
  ])('%s', (_what, rates, highest) => {
    expect(findHighestRate(rates)?.perSecond).toBe(highest);
  });
});
