import type { GraphQLResolveInfo, GraphQLSchema } from 'graphql';
import { rateLimitDirective } from 'graphql-rate-limit-directive';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Bucket, Charges, Context } from '../context.ts';
import { RateLimitedError } from '../errors.ts';
import { type Access, accessOf } from './access.ts';
import { type Counters, type Limits, WINDOW_SECONDS } from './rate-limit-counters.ts';

/** What `schema.graphql` shows; configured numbers never change the printed text. */
const defaultLimits: Limits = { reads: 600, writes: 120, platform: 0 };

/** The arguments of `@rateLimit` on a field that counts against a bucket. */
export function rateLimitArguments(bucket: Bucket): { limit: number; duration: number } {
  return { limit: defaultLimits[bucket], duration: WINDOW_SECONDS };
}

/** The directive's definition, for printing. */
export const { rateLimitDirectiveTypeDefs } = rateLimitDirective({
  defaultLimit: String(defaultLimits.reads),
  defaultDuration: String(WINDOW_SECONDS),
});

/** Counts requests by user and bucket, over both faces together. */
export type RateLimiter = {
  /** Puts the limit before every root field, so that aliases do not get round it. */
  apply(schema: GraphQLSchema): GraphQLSchema;
  /** Charges a read to a request that was refused before any operation of it was counted. */
  chargeRefused(context: Pick<Context, 'viewer' | 'charges'>): Promise<void>;
};

/** Limits that count with these counters. */
export function createRateLimiter(limits: Limits, counters: Counters): RateLimiter {
  /** The directive makes a limiter for every pair of printed numbers; ours goes by the bucket in the key. */
  class ByBucket extends RateLimiterMemory {
    override consume(key: string | number, points?: number): Promise<RateLimiterRes> {
      const [bucket, userId] = splitKey(String(key));
      return counters[bucket].consume(userId, points);
    }
  }

  const { rateLimitDirectiveTransformer } = rateLimitDirective<Context, never>({
    limiterClass: ByBucket,
    keyGenerator: (_directive, _source, _args, { viewer }, info) => `${bucketOf(info)}:${viewer.userId}`,
    pointsCalculator: (_directive, _source, args, { charges }, info) => {
      charges.counted = true;
      const { bucket, points } = accessOfField(info);
      return limits[bucket] === 0 ? 0 : (points?.(args) ?? 1);
    },
    setState: (response, _directive, _source, _args, { charges }, info) => {
      noteQuota(charges, limits[bucketOf(info)], response);
    },
    onLimit: (response) => {
      throw new RateLimitedError(secondsOf(response));
    },
  });

  return {
    apply: rateLimitDirectiveTransformer,
    async chargeRefused({ viewer, charges }) {
      if (charges.counted || limits.reads === 0) return;
      charges.counted = true;
      // A refused request is answered with its own fault even where the limit is reached.
      const response = await counters.reads.consume(viewer.userId).catch((over: unknown) => over);
      if (response instanceof RateLimiterRes) noteQuota(charges, limits.reads, response);
    },
  };
}

/** The headers that tell a caller what is left of the bucket that was charged. */
export function quotaHeaders({ quota }: Charges): [name: string, value: string][] {
  if (quota === undefined) return [];
  return [
    ['RateLimit-Limit', String(quota.limit)],
    ['RateLimit-Remaining', String(quota.remaining)],
    ['RateLimit-Reset', String(quota.resetSeconds)],
  ];
}

function bucketOf(info: GraphQLResolveInfo): Bucket {
  return accessOfField(info).bucket;
}

function accessOfField({ parentType, fieldName }: GraphQLResolveInfo): Access {
  return accessOf(fieldName, parentType.getFields()[fieldName]?.extensions);
}

function splitKey(key: string): [Bucket, string] {
  const [, bucket, userId] = /^(reads|writes|platform):(.*)$/s.exec(key) ?? [];
  switch (bucket) {
    case 'reads':
    case 'writes':
    case 'platform':
      return [bucket, userId ?? ''];
    default:
      throw new Error('The key of a rate limit names no bucket.');
  }
}

/** Keeps the tightest of several buckets. */
function noteQuota(charges: Charges, limit: number, response: RateLimiterRes): void {
  if (charges.quota !== undefined && charges.quota.remaining <= response.remainingPoints) return;
  charges.quota = { limit, remaining: response.remainingPoints, resetSeconds: secondsOf(response) };
}

function secondsOf({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1000));
}
