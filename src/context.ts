import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from './auth/viewer.ts';
import type { EntityManager } from './database/database.ts';
import type { Page } from './database/page.ts';
import type { CredentialCipher } from './encryption/credential-cipher.ts';
import type { SubscriptionCipher } from './encryption/subscription-cipher.ts';
import type { GatewayError } from './errors/gateway-errors.ts';
import type { RequestFailure } from './http/request-log.ts';
import type { Announce } from './live/announcer.ts';
import type { Hub } from './live/hub.ts';
import type { Log } from './log.ts';
import type { Charges } from './rate-limit/buckets.ts';
import type { RateLimiter } from './rate-limit/rate-limiter.ts';
import type { ReadScheduler } from './rate-limit/read-scheduler.ts';
import type { Outbox } from './revisions/outbox.ts';
import type { Time } from './values/time.ts';

/** A page of a list to read. Only REST sets `matchesKnownTag`. */
export type PageRequest = {
  readonly page: Page;
  /** Returns whether the client already has the list with this entity tag. If it does, no records are read. */
  readonly matchesKnownTag?: (etag: string) => boolean;
};

/** The dependencies of registering push subscriptions. */
export type PushRegistration = {
  readonly cipher: SubscriptionCipher;
  /** The key that browsers subscribe with: an uncompressed point on P-256, base64url. */
  readonly publicKey: string;
  /** Hosts of `PUSH_ALLOWED_HOSTS`, whose addresses may be private. */
  readonly allowedHosts: readonly string[];
};

/** The context of resolvers, created for each request. */
export type Context = {
  readonly em: EntityManager;
  readonly viewer: Viewer;
  readonly now: Time;
  readonly log: Log;
  /** The root fields of the request, collected for the log and the metrics. */
  readonly operations: Set<string>;
  /** The errors of the request, collected for the metrics. */
  readonly failures: RequestFailure[];
  readonly cipher: CredentialCipher;
  readonly hub: Hub;
  /**
   * Limits how many reads of a caller run at once: root fields of the bucket `reads`, and the `totalCount` of their
   * lists.
   */
  readonly readScheduler: ReadScheduler;
  /** Announces a committed change to subscribers. */
  readonly announce: Announce;
  /** Queues and cancels deliveries within a change. */
  readonly outbox: Outbox;
  /** Null if push is not configured. */
  readonly push: PushRegistration | null;
  /** Calls `leave` when the response ends or the caller disconnects, or immediately if it already has. */
  onLeave(leave: () => void): void;
  readonly rateLimiter: RateLimiter;
  readonly charges: Charges;
  /** The page that a REST route requests. Absent in GraphQL, whose connections have arguments for it. */
  readonly restPage?: PageRequest;
};

/** The API-specific part of handling a request. */
export type Handling<Reply> = {
  /**
   * Runs the operation of a request. Returns the reply, or a function that sends it, because `handle` sets the quota
   * headers before anything is sent.
   */
  run(context: Context): Promise<Reply>;
  /** Converts an error, already safe to show, to a reply. */
  refuse(error: GatewayError): Reply;
  /** Whether a request without a token may run as the anonymous viewer. Defaults to `false`. */
  allowsAnonymous?(): Promise<boolean>;
};

/**
 * Handles a request of either API: authentication, context, the operation, error conversion, quota headers. Returns the
 * reply for the API to send.
 */
export type HandleRequest = <Reply>(
  request: IncomingMessage,
  response: ServerResponse,
  handling: Handling<Reply>,
) => Promise<Reply>;
