import type { Database } from '../database/database.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';

/** What changes need of the delivery of notifications. */
export type Outbox = {
  /** The channels that have a provider. Rows are queued for them whether or not this process sends. */
  readonly channels: ReadonlySet<DeliveryChannel>;
  /** How long emails wait, so that what is settled meanwhile is not sent. */
  readonly emailDelayMs: number;
  /**
   * Notes that deliveries of users may no longer be wanted, because notifications were settled, a channel disabled, or a
   * target removed. They are ended soon afterwards. Call it after the commit.
   */
  note(users: readonly string[]): void;
};

/** The dependencies of changes after which deliveries may no longer be wanted. A `Context` can be passed. */
export type OutboxDependencies = { readonly database: Database; readonly outbox: Outbox };
