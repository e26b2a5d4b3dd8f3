import type { Access, Bucket } from '../auth/access.ts';
import { anonymous, type Viewer } from '../auth/viewer.ts';
import { RateLimitedError } from '../errors/gateway-errors.ts';
import { type Caller, type Charges, createBuckets, keepTightest } from './buckets.ts';
import type { Limits, PointCounters } from './point-counters.ts';

/** A list costs one point for each started group of this many records. */
const RECORDS_PER_POINT = 1000;

type Arguments = Readonly<Record<string, unknown>>;

/** Limits requests of both APIs by user and bucket. */
export type RateLimiter = {
  /**
   * Uses a prepaid point for a call of a field that always costs one point. Returns `false`, and uses none, if no
   * prepaid point is left or if the cost depends on the arguments.
   */
  tryTakePrepaid(caller: Caller, access: Access): boolean;
  /**
   * Uses a prepaid point for a call of a field, and charges the further points that its arguments cost.
   * @throws {RateLimitedError} if fewer points are left than the call costs
   */
  chargeCall(caller: Caller, access: Access, args: Arguments): Promise<void>;
  /** @throws {RateLimitedError} if all buckets that the caller's token can use are known to be empty */
  throwIfExhausted(caller: Caller): void;
  /**
   * Charges one point for each root field before the operation runs. Fields for which no point is left fail when they
   * are resolved.
   * @throws {RateLimitedError} if there are fields, but no point is left for any of them
   */
  prepay(caller: Caller, fields: readonly Access[]): Promise<void>;
  /** Charges the points that the records of a list cost in addition to the prepaid point. */
  chargeRecords(caller: Caller, bucket: Bucket, records: number): void;
  /**
   * Charges one read if nothing has been charged yet, for example because the request selects only introspection or
   * failed a check before the charge. A request that the rate limit rejected is not charged again.
   */
  chargeMinimum(caller: Caller): Promise<void>;
};

/** Creates a rate limiter with these counters. */
export function createRateLimiter(limits: Limits, counters: PointCounters): RateLimiter {
  const { findEmptyQuota, chargePoints, chargeInBackground } = createBuckets(limits, counters);

  function takePoint({ charges: { prepaid } }: Caller, bucket: Bucket): boolean {
    if (prepaid[bucket] <= 0) return false;
    prepaid[bucket] -= 1;
    return true;
  }

  async function chargeCall(caller: Caller, { bucket, points }: Access, args: Arguments): Promise<void> {
    if (!takePoint(caller, bucket)) throw limitReached(caller.charges);
    const more = (points?.(args) ?? 1) - 1;
    if (more > 0 && (await chargePoints(bucket, caller, more)) < more) throw limitReached(caller.charges);
  }

  return {
    tryTakePrepaid: (caller, { bucket, points }) => points === undefined && takePoint(caller, bucket),
    chargeCall,
    throwIfExhausted({ viewer, charges }) {
      const empty = listBuckets(viewer).map((bucket) => findEmptyQuota(bucket, viewer.userId));
      if (empty.length === 0 || empty.includes(undefined)) return;
      for (const quota of empty) if (quota) keepTightest(charges, quota);
      charges.wasCharged = true;
      throw limitReached(charges);
    },
    async prepay(caller, fields) {
      const { charges } = caller;
      for (const [bucket, { length }] of Map.groupBy(fields, ({ bucket }) => bucket)) {
        charges.wasCharged = true;
        charges.prepaid[bucket] = await chargePoints(bucket, caller, length);
      }
      const isRefused = fields.length > 0 && fields.every(({ bucket }) => charges.prepaid[bucket] === 0);
      if (isRefused) throw limitReached(charges);
    },
    chargeRecords(caller, bucket, records) {
      const points = Math.ceil(records / RECORDS_PER_POINT) - 1;
      // The list has already been read.
      if (points > 0) chargeInBackground(bucket, caller, points);
    },
    async chargeMinimum(caller) {
      if (caller.viewer === anonymous || caller.charges.wasCharged) return;
      caller.charges.wasCharged = true;
      // The reply stays the same, even if no point is left.
      await chargePoints('reads', caller, 1);
    },
  };
}

/** Returns the quota headers of a reply. */
export function quotaHeaders({ quota }: Charges): [name: string, value: string][] {
  if (quota === undefined) return [];
  return [
    ['RateLimit-Limit', String(quota.limit)],
    ['RateLimit-Remaining', String(quota.remaining)],
    ['RateLimit-Reset', String(quota.resetSeconds)],
  ];
}

/**
 * Lists the buckets that a viewer's token can use. With `platform:read`, a service can also read the accounts of users,
 * which is charged as reads.
 */
function listBuckets({ scopes }: Viewer): Bucket[] {
  return [
    ...(scopes.has('account:read') || scopes.has('platform:read') ? (['reads'] as const) : []),
    ...(scopes.has('account:write') ? (['writes'] as const) : []),
    ...([...scopes].some((scope) => scope.startsWith('platform:')) ? (['platform'] as const) : []),
  ];
}

function limitReached({ quota }: Charges): RateLimitedError {
  return new RateLimitedError(quota?.resetSeconds ?? 1);
}
