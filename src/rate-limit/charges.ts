import type { Bucket } from '../auth/access.ts';

/** What a caller has left after a charge: points of the bucket, and seconds until it is full again. */
export type Quota = { limit: number; remaining: number; resetSeconds: number };

/** What happened to a request's rate limits, written by the limiter and read for the reply's headers. */
export type Charges = {
  /** The tightest of the buckets that were charged; absent where they are off. */
  quota?: Quota;
  /** Whether an operation was charged, so that a refused request is charged no second time. */
  counted: boolean;
  /** Points that were charged for root fields and not yet used by one. */
  readonly paid: Record<Bucket, number>;
};
