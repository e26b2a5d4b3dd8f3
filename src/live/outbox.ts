import type { Database } from '../database/database.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';

/** What changes need of the delivery of notifications. */
export type Outbox = {
  /** The channels that have a provider. Rows are queued for them whether or not this process sends. */
  readonly channels: ReadonlySet<DeliveryChannel>;
  /** How long emails wait, so that what is settled meanwhile is not sent. */
  readonly emailDelayMs: number;
  /**
   * Notes that deliveries of users may have to follow a change: notifications were settled or restored, a channel disabled,
   * or a target removed. They do so soon afterwards. Call it after the commit.
   */
  note(users: readonly string[]): void;
};

/** The dependencies of changes that deliveries follow. A `Context` can be passed. */
export type OutboxDependencies = { readonly database: Database; readonly outbox: Outbox };
