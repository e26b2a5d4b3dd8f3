import type { Request, Response } from 'express';
import type { Plugin } from 'graphql-yoga';
import type { Viewer } from './auth/viewer.ts';
import type { Database } from './database/database.ts';
import type { CredentialCipher, SubscriptionCipher } from './encryption/bound-cipher.ts';
import type { ErrorCode } from './errors/gateway-errors.ts';
import type { ReadBody } from './http/read-body.ts';
import type { Announce } from './live/announcer.ts';
import type { Hub } from './live/hub.ts';
import type { Outbox } from './live/outbox.ts';
import type { Log } from './log.ts';
import type { Charges, Quota } from './quota/quota.ts';
import type { ReadScheduler } from './quota/read-scheduler.ts';
import type { RunningDocument, RunningDocuments } from './quota/running-documents.ts';
import type { Time } from './values/time.ts';

/** What the contexts of all requests share. */
export type SharedContext = {
  readonly database: Database;
  readonly cipher: CredentialCipher;
  readonly hub: Hub;
  /** Announces a committed change to subscribers. */
  readonly announce: Announce;
  /** What changes need of the delivery of notifications. */
  readonly outbox: Outbox;
  /** Null if push is not configured. */
  readonly push: PushRegistration | null;
  readonly quota: Quota;
  readonly readBody: ReadBody;
  /**
   * Limits how many reads of a caller run at once: root fields of the bucket `reads`, and the `totalCount` of their
   * lists.
   */
  readonly readScheduler: ReadScheduler;
  /** Limits what the documents cost that run at once. */
  readonly runningDocuments: RunningDocuments;
};

/** The dependencies of registering push subscriptions. */
export type PushRegistration = {
  readonly cipher: SubscriptionCipher;
  /** The key that browsers subscribe with: an uncompressed point on P-256, base64url. */
  readonly publicKey: string;
  /** Hosts of `PUSH_ALLOWED_HOSTS`, whose addresses may be private. */
  readonly allowedHosts: readonly string[];
};

/** What the log line and the metrics need of a request, collected while it is handled. */
export type RequestRecord = {
  readonly id: string;
  readonly log: Log;
  user?: string | undefined;
  /** The requested root fields. */
  readonly operations: Set<string>;
  /** The errors in the reply. */
  readonly failures: RequestFailure[];
  /** The notifications that the request published. */
  readonly published: PublishedNotification[];
  /** The notifications whose requests the request answered. */
  readonly answered: string[];
};

/** The user and the ID of a published notification. `created` is `false` if it was stored already. */
export type PublishedNotification = {
  readonly user: string;
  readonly notification: string;
  readonly kind: string;
  readonly created: boolean;
};

/** An error in a reply: of one root field, or of the whole request if `field` is undefined. */
export type RequestFailure = { readonly field?: string; readonly code: ErrorCode };

/** The context of resolvers, created for each request. */
export type Context = SharedContext &
  Pick<RequestRecord, 'log' | 'operations' | 'failures' | 'published' | 'answered'> & {
    readonly viewer: Viewer;
    readonly now: Time;
    readonly charges: Charges;
    /** Set if the document is costly. */
    runningDocument: RunningDocument | undefined;
    /** Calls `leave` when the response ends or the caller disconnects, or immediately if it already has. */
    onLeave(leave: () => void): void;
  };

/** The root value of an operation: how the request came. */
export type RootValue = { readonly via?: 'rest' };

/** What Express passes to Yoga. */
export type ServerContext = { req: Request; res: Response };

/** A plugin of the GraphQL server. */
export type GatewayPlugin = Plugin<ServerContext, ServerContext>;

declare global {
  namespace Express {
    interface Locals {
      /** Set by the first step of every request. */
      record: RequestRecord;
      /** Set by the step that identifies the caller. */
      context?: Context;
    }
  }
}
