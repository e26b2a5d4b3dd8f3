import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AttemptOutcome,
  parseRetryAfter,
  pauseProvider,
  rejectMessage,
  reportUnclearFailure,
  requireOperator,
  retryLater,
} from '../../src/delivery/outcome.ts';
import { createProvider } from '../../src/delivery/providers.ts';
import { computeRetryDelay, decideAfterAttempt, decideWithoutAttempt } from '../../src/delivery/result.ts';
import { claim, data } from '../support/delivery-job.ts';

const NOW = Date.parse('2026-11-06T08:49:37.000Z');
const DAY_MS = 86_400_000;

describe('Retry-After', () => {
  const ignored = [null, undefined, '', '-1', '1.5', '1e3', '0x10', 'soon', '2026-11-06T08:50:37Z'];
  test.each<[header: string | null | undefined, seconds: number | undefined]>([
    ['0', 0],
    [' 30 ', 30],
    ['86401', 86_400],
    ['9'.repeat(400), 86_400],
    ['Fri, 06 Nov 2026 08:50:37 GMT', 60],
    ['Friday, 06-Nov-26 08:50:37 GMT', 60],
    ['Fri Nov  6 08:50:37 2026', 60],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Fri, 06 Nov 2027 08:49:37 GMT', 86_400],
    ...ignored.map((header): [typeof header, undefined] => [header, undefined]),
  ])('%j is %j seconds', (header, seconds) => {
    expect(parseRetryAfter(header, NOW)).toBe(seconds);
  });

  test('is a whole number of seconds within a day, or ignored, for any header', () => {
    const date = fc.date({ noInvalidDate: true }).map((date) => date.toUTCString());
    fc.assert(
      fc.property(fc.oneof(fc.string(), date), (header) => {
        const seconds = parseRetryAfter(header, NOW) ?? 0;
        expect(Number.isInteger(seconds)).toBe(true);
        expect(seconds).toBeGreaterThanOrEqual(0);
        expect(seconds).toBeLessThanOrEqual(86_400);
      }),
    );
  });
});

describe('the delay until the next attempt', () => {
  const later = { attempts: 1, minimumSeconds: 0, now: NOW, expiresAt: NOW + DAY_MS };

  test.each([
    [1, 5000, 10_000],
    [2, 10_000, 20_000],
    [9, 1_280_000, 2_560_000],
    [10, 1_800_000, 3_600_000],
    [5000, 1_800_000, 3_600_000],
  ])('after %d attempts is between %d and %d ms', (attempts, least, longest) => {
    expect(computeRetryDelay({ ...later, attempts }, () => 0)).toBe(least);
    expect(computeRetryDelay({ ...later, attempts }, () => 1)).toBe(longest);
  });

  test.each([
    ['at the time of expiry', 10_000, 0, 10_000],
    ['after the expiry', 9999, 0, undefined],
    ['after the expiry because of the minimum', 60_000, 61, undefined],
    ['after a minimum', DAY_MS, 60, 60_000],
    ['after less than the usual minimum', DAY_MS, 1, 10_000],
  ])('%s', (_when, left, minimumSeconds, delay) => {
    expect(computeRetryDelay({ ...later, minimumSeconds, expiresAt: NOW + left }, () => 1)).toBe(delay);
  });
});

describe('the result', () => {
  const email = { ...claim, channel: 'email', expiresAt: '9999-12-31T00:00:00.000Z' } as const;
  const lost = retryLater('reply_lost', null);
  const late = 9e12;

  /* The result, and whether the message may be delivered after it, if it may be before or not. */
  test.each<[what: string, outcome: AttemptOutcome, result: string, before: boolean, after: boolean]>([
    ['a failure', pauseProvider('503'), 'postponed provider_unavailable', false, false],
    ['a failure after a lost reply', pauseProvider('503'), 'postponed provider_unavailable', true, true],
    ['an unclear failure', reportUnclearFailure('500'), 'postponed provider_unavailable', false, true],
    ['a lost reply', lost, 'postponed reply_lost', false, true],
    ['a lost reply, too late', retryLater('reply_lost', null, late), 'failed expired', false, true],
    ['a limit, too late', retryLater('rate_limited', '429', late), 'failed expired', false, false],
    ['a refusal after a lost reply', rejectMessage('413'), 'failed message_rejected', true, false],
  ])('of %s', (_what, outcome, result, before, after) => {
    const [state, reason] = result.split(' ');
    const expected = state === 'postponed' ? { kind: state } : { kind: 'ended', state };
    expect(decideAfterAttempt(email, { mayBeDelivered: before }, outcome)).toMatchObject({
      ...expected,
      reason,
      mayBeDelivered: after,
    });
  });

  const ended = { kind: 'ended', providerCode: null };
  test.each<[what: string, changes: object, result: object | undefined]>([
    ['is wanted', {}, undefined],
    ['has expired', { isExpired: true }, { ...ended, state: 'failed', reason: 'expired' }],
    ['is settled', { unwanted: 'settled' }, { ...ended, state: 'cancelled', reason: 'settled' }],
    ['is settled, too late', { unwanted: 'settled', isExpired: true }, { ...ended, reason: 'settled' }],
  ])('of a delivery that %s, without an attempt', (_what, changes, result) => {
    for (const mayBeDelivered of [false, true]) {
      const found = decideWithoutAttempt(email, { ...data, ...changes, mayBeDelivered });
      if (result === undefined) expect(found).toBeUndefined();
      else expect(found).toMatchObject({ ...result, mayBeDelivered, wasAttempted: false });
    }
  });
});

describe('a provider', () => {
  const unavailable = pauseProvider('503');
  const refused = requireOperator('403');

  /** Creates a provider, and functions that record outcomes: `fail` of as many users as pause it. */
  function create(random = () => 1) {
    const provider = createProvider(random);
    let users = 0;
    const record = (outcome: AttemptOutcome, now: number) => {
      users += 1;
      provider.record({ userId: `user-${users}`, target: '' }, outcome, now);
    };
    const fail = (outcome: AttemptOutcome, now: number) => {
      for (let count = 0; count < 5; count += 1) record(outcome, now);
    };
    return { provider, record, fail };
  }

  test('allows as many messages as usual until it fails, then none, and one at a time until one succeeds', () => {
    const { provider, fail, record } = create();
    expect([provider.limit(20, 0), provider.pausedUntil]).toEqual([20, undefined]);
    fail(unavailable, 0);
    // A reply to an earlier message ends no pause.
    record({ kind: 'delivered' }, 500);
    expect(provider.pausedUntil).toBe(1000);
    expect([provider.limit(20, 999), provider.limit(20, 1000)]).toEqual([0, 1]);
    record({ kind: 'delivered' }, 1000);
    expect([provider.limit(20, 1000), provider.pausedUntil]).toEqual([20, undefined]);
  });

  test.each([
    ['while unavailable', unavailable, [1, 2, 4, 8, 16, 32, 60, 60]],
    ['until the operator acts', refused, [60, 120, 240, 300, 300]],
  ])('pauses longer after each failed probe %s', (_when, failure, seconds) => {
    const { provider, fail, record } = create();
    let now = 0;
    for (const pause of seconds) {
      fail(failure, now);
      expect(provider.pausedUntil).toBe(now + pause * 1000);
      now += pause * 1000;
    }
    record({ kind: 'delivered' }, now);
    fail(failure, now);
    expect(provider.pausedUntil).toBe(now + (seconds[0] ?? 0) * 1000);
  });

  test.each([
    ['shortens a pause to at least half at random', undefined, 500],
    ['does not end a pause before Retry-After', 90, 90_000],
  ])('%s', (_what, retryAfterSeconds, end) => {
    const { provider, fail } = create(() => 0);
    fail(pauseProvider('503', retryAfterSeconds), 0);
    expect(provider.pausedUntil).toBe(end);
  });

  test('begins with the shortest pause if the next message fails for another reason', () => {
    const { provider, fail, record } = create();
    fail(refused, 0);
    record(unavailable, 60_000);
    expect(provider.pausedUntil).toBe(61_000);
  });
});
