import { describe, expect, test } from 'vitest';
import { createEventScanner } from '../../bench/event-scanner.ts';
import { findHighestRate, type Rate } from '../../bench/live-rates.ts';
import { createReplyReader } from '../../bench/raw-http.ts';

/** Passes a text to a reader in two pieces, split at every position in turn, and returns what each reader found. */
function readInTwoPieces<Found>(
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

test('finds the number of every event once, at any split between chunks', () => {
  const formatEvent = (number: number) =>
    `event: next\ndata: {"data":{"notificationEvents":{"notification":{"id":"event-${number}","kind":"A"}}}}\n\n`;
  const text = `:\n\n${formatEvent(7)}${formatEvent(12_345_678)}:\n\n${formatEvent(0)}`;

  for (const found of readInTwoPieces(text, createEventScanner)) expect(found).toEqual([7, 12_345_678, 0]);
});

test('finds every reply once, at any split between chunks', () => {
  const formatReply = (body: string) =>
    `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nX-A: b\r\n\r\n${body}`;
  const replies = [formatReply('{"a":1}'), formatReply(''), formatReply('\r\n\r\n{"b":2}')];

  for (const found of readInTwoPieces(replies.join(''), createReplyReader)) expect(found).toEqual(replies);
});

test('rejects a reply without Content-Length', () => {
  expect(() => createReplyReader(() => undefined)('HTTP/1.1 200 OK\r\n\r\n')).toThrow('no Content-Length');
});

describe('the highest rate', () => {
  const createRate = (perSecond: number, p99s: number[], missing = 0): Rate => ({
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
      'is the last one before p99 exceeds the limit',
      [createRate(100, [9]), createRate(200, [99]), createRate(400, [101])],
      200,
    ],
    ['is the last one if every p99 is within the limit', [createRate(100, [9]), createRate(200, [99])], 200],
    [
      'is determined by the medians of p99',
      [createRate(100, [9]), createRate(200, [900, 99, 98]), createRate(400, [9, 100, 100])],
      200,
    ],
    [
      'requires every lower rate to be within the limit',
      [createRate(100, [9]), createRate(200, [101]), createRate(400, [9])],
      100,
    ],
    ['requires every event to arrive', [createRate(100, [9]), createRate(200, [9], 1)], 100],
    [
      'is undefined if the lowest rate exceeds the limit',
      [createRate(100, [101]), createRate(200, [9])],
      undefined,
    ],
  ])('%s', (_what, rates, highest) => {
    expect(findHighestRate(rates)?.perSecond).toBe(highest);
  });
});
