import { buildSchema, type GraphQLResolveInfo, type GraphQLSchema } from 'graphql';
import { rateLimitDirective } from 'graphql-rate-limit-directive';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { type Access, type Bucket, requireAccess } from '../auth/access.ts';
import type { Viewer } from '../auth/viewer.ts';
import { RateLimitedError } from '../errors/gateway-errors.ts';
import { type Caller, createBuckets, keepTightest } from './buckets.ts';
import type { Charges } from './charges.ts';
import { type Counters, type Limits, WINDOW_SECONDS } from './counters.ts';

/** The limits that `schema.graphql` shows; configured numbers never change the printed text. */
const defaultLimits: Limits = { reads: 600, writes: 120, platform: 0 };

/** The arguments of `@rateLimit` on a field that counts against a bucket. */
export function rateLimitArguments(bucket: Bucket): { limit: number; duration: number } {
  return { limit: defaultLimits[bucket], duration: WINDOW_SECONDS };
}

/** Replaces the definition of the library, which describes neither the limits that fields share nor 0. */
const directive = `
"""
The default rate limit of a root field, per user. Reads of the account share one limit, writes another, and platform
operations a third. The operator can configure other limits.
"""
directive @rateLimit(
  """The maximum number of points per time window. A call costs at least one point. 0 means no limit."""
  limit: Int! = ${defaultLimits.reads}
  """The length of the time window in seconds."""
  duration: Int! = ${WINDOW_SECONDS}
) on FIELD_DEFINITION | OBJECT
`;

/** The directives of a schema with `@rateLimit`: it and those that GraphQL specifies. */
export const rateLimitDirectives = buildSchema(directive, { assumeValidSDL: true }).getDirectives();

/** A list costs one point for every so many records. */
const RECORDS_PER_POINT = 1000;

type Arguments = Readonly<Record<string, unknown>>;

/** Counts requests by user and bucket, over both APIs together. */
export type RateLimiter = {
  /** Puts the limit before the resolver of every root field, so that aliases cannot bypass it. */
  apply(schema: GraphQLSchema): GraphQLSchema;
  /** Does the same for one call of a field. @throws {RateLimitedError} if no point is left for it */
  usePoints(caller: Caller, access: Access, args: Arguments): Promise<void>;
  /** @throws {RateLimitedError} if every bucket that the caller's token may use is known to be empty */
  refuseExhausted(caller: Caller): void;
  /**
   * Charges the root fields of an operation, one point each, before any work is done for them. Fields for which no
   * point is left fail when they are resolved.
   * @throws {RateLimitedError} if no point is left for any of them
   */
  charge(caller: Caller, fields: readonly Access[]): Promise<void>;
  /** Charges what a served list costs beyond its first point. */
  chargeRecords(caller: Caller, bucket: Bucket, records: number): void;
  /** Charges a read to a request that was refused before any operation of it was charged. */
  chargeRefused(caller: Caller): Promise<void>;
};

/** Limits that count with these counters. */
export function createRateLimiter(limits: Limits, counters: Counters): RateLimiter {
  const { emptyQuota, note, take } = createBuckets(limits, counters);

  /** Uses the point that was charged for a field, and takes what it costs beyond that, as its arguments say. */
  async function usePoints(caller: Caller, { bucket, points }: Access, args: Arguments): Promise<void> {
    const { charges } = caller;
    if (charges.paid[bucket] <= 0) throw limitReached(charges);
    charges.paid[bucket] -= 1;
    const more = (points?.(args) ?? 1) - 1;
    if (more > 0 && (await take(bucket, caller, more)) < more) throw limitReached(charges);
  }

  // Points are taken before the operation runs. The directive only stops the fields for which none was left.
  const { rateLimitDirectiveTransformer } = rateLimitDirective<Caller, never>({
    pointsCalculator: async (_directive, _source, args, context, info) => {
      await usePoints(context, accessOfField(info), args);
      return 0;
    },
  });

  return {
    apply: rateLimitDirectiveTransformer,
    usePoints,
    refuseExhausted({ viewer, charges }) {
      const empty = listBuckets(viewer).map((bucket) => emptyQuota(bucket, viewer.userId));
      if (empty.length === 0 || empty.includes(undefined)) return;
      for (const quota of empty) if (quota) keepTightest(charges, quota);
      charges.counted = true;
      throw limitReached(charges);
    },
    async charge(caller, fields) {
      const { charges } = caller;
      for (const [bucket, { length }] of Map.groupBy(fields, ({ bucket }) => bucket)) {
        charges.counted = true;
        charges.paid[bucket] = await take(bucket, caller, length);
      }
      const isRefused = fields.length > 0 && fields.every(({ bucket }) => charges.paid[bucket] === 0);
      if (isRefused) throw limitReached(charges);
    },
    chargeRecords({ viewer: { userId }, charges }, bucket, records) {
      const points = Math.ceil(records / RECORDS_PER_POINT) - 1;
      if (points <= 0 || limits[bucket] === 0) return;
      if (charges.quota) charges.quota.remaining = Math.max(0, charges.quota.remaining - points);
      // Nobody waits for it: the list is served already.
      counters[bucket].consume(userId, points).then(
        (response) => note({ ...charges }, bucket, userId, response),
        (over: unknown) => over instanceof RateLimiterRes && note({ ...charges }, bucket, userId, over),
      );
    },
    async chargeRefused(caller) {
      if (caller.charges.counted) return;
      caller.charges.counted = true;
      // A refused request is answered with its own error even if the limit is reached.
      await take('reads', caller, 1);
    },
  };
}

/** The headers that show a caller what is left of the bucket that was charged. */
export function quotaHeaders({ quota }: Charges): [name: string, value: string][] {
  if (quota === undefined) return [];
  return [
    ['RateLimit-Limit', String(quota.limit)],
    ['RateLimit-Remaining', String(quota.remaining)],
    ['RateLimit-Reset', String(quota.resetSeconds)],
  ];
}

/** The buckets that the operations of a viewer's token count against. */
function listBuckets({ scopes }: Viewer): Bucket[] {
  return [
    ...(scopes.has('account:read') || scopes.has('platform:read') ? (['reads'] as const) : []),
    ...(scopes.has('account:write') ? (['writes'] as const) : []),
    ...([...scopes].some((scope) => scope.startsWith('platform:')) ? (['platform'] as const) : []),
  ];
}

function accessOfField({ parentType, fieldName }: GraphQLResolveInfo): Access {
  return requireAccess(fieldName, parentType.getFields()[fieldName]?.extensions);
}

function limitReached({ quota }: Charges): RateLimitedError {
  return new RateLimitedError(quota?.resetSeconds ?? 1);
}
