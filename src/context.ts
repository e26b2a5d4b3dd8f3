import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from './auth/viewer.ts';
import type { EntityManager } from './database/database.ts';
import type { Page } from './database/page.ts';
import type { CredentialCipher } from './encryption/credential-cipher.ts';
import type { GatewayError } from './errors/gateway-errors.ts';
import type { Failure } from './http/request-log.ts';
import type { Announce } from './live/announcer.ts';
import type { Hub } from './live/hub.ts';
import type { Log } from './log.ts';
import type { Charges } from './rate-limit/charges.ts';
import type { ReadTurns } from './rate-limit/read-turns.ts';
import type { Time } from './values/time.ts';

/** How a REST route reads a list. GraphQL operations use connection arguments instead. */
export type Listing = {
  /** The page, of any size. */
  readonly page: Page;
  /** Whether the client already has the list with an entity tag. Its records are then not read. */
  readonly isKnown?: (etag: string) => boolean;
};

/** What a resolver gets. Made for one request; nothing in it outlives the request. */
export type Context = {
  readonly em: EntityManager;
  readonly viewer: Viewer;
  readonly now: Time;
  readonly log: Log;
  /** The root fields that were asked for, noted for the log. */
  readonly operations: Set<string>;
  /** What failed of it, noted for the metrics. */
  readonly failures: Failure[];
  readonly cipher: CredentialCipher;
  readonly hub: Hub;
  /** Account reads of a user run a few at once. */
  readonly readTurns: ReadTurns;
  /** Announces a committed change to subscribers. */
  readonly announce: Announce;
  /** Has something done when the caller leaves, at once where they already have. */
  onLeave(leave: () => void): void;
  readonly charges: Charges;
  /** How a REST path reads a list; GraphQL asks by connection arguments. */
  readonly listing?: Listing;
};

/** What both APIs do with every request. */
export type RequestHooks = {
  /** Authenticates a request and opens its context; given a viewer, it only opens one. */
  open(request: IncomingMessage, response: ServerResponse, as?: Viewer): Promise<Context>;
  /** Settles the charges of a request, and sets the headers that show what is left. */
  settle(context: Context, response: ServerResponse): Promise<void>;
  /** Logs what was thrown, and returns the error that the caller is shown. */
  fail(error: unknown, response: ServerResponse): GatewayError;
};
