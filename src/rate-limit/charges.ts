import type { Bucket } from '../auth/access.ts';

/** The state of a bucket after a charge: its limit, the points left, and the seconds until all are available again. */
export type Quota = { limit: number; remaining: number; resetSeconds: number };

/** The rate limit charges of a request, written by the limiter and read for the quota headers. */
export type Charges = {
  /** The charged bucket with the fewest remaining points; absent if no limited bucket was charged. */
  quota?: Quota;
  /** Whether the limiter has charged or rejected the request, so that `chargeMinimum` charges nothing. */
  wasCharged: boolean;
  /** Points charged before the operation ran, for root fields that have not run yet. */
  readonly prepaid: Record<Bucket, number>;
};
