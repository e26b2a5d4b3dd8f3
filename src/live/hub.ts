import type { Viewer } from '../auth/viewer.ts';
import { GoingAwayError, RateLimitedError } from '../errors/gateway-errors.ts';
import type { Revisions } from '../revisions/revisions.ts';

/**
 * What a change can affect. `user` means that all data of the user was deleted, and `platformEvents` that events of any
 * users were added to the platform feed.
 */
export const topics = ['notifications', 'workspaces', 'editorAuth', 'user', 'platformEvents'] as const;
export type Topic = (typeof topics)[number];

/** The user in changes of the platform feed. No user has an empty ID. */
export const ALL_USERS = '';

/**
 * A committed change: the user, what it affected, and the user's new revision of that topic: 0 for `user`, and for
 * `platformEvents` the last position.
 */
export type Change = {
  user: string;
  topic: Topic;
  revision: number;
  /** Whether the change of this gateway wrote platform events, which have no position yet. */
  hasEvents?: boolean;
};

/** An open stream of one user's changes. */
export type Subscriber = {
  readonly viewer: Viewer;
  /** The user whose changes the stream shows: the viewer, or another user whom the viewer may read; or `ALL_USERS`. */
  readonly userId: string;
  /** Whether it counts only among all subscribers, and not among those of the viewer. */
  readonly isService?: boolean;
  /** Called with every announced change of the user. */
  wake(change: Change): void;
  /**
   * Reads again unless the stream has seen the user's current revisions. They are `undefined` before the user's first
   * change, and from a deletion of the user until the next change.
   */
  catchUp(revisions: Revisions | undefined): void;
  /** Ends the stream with an error. */
  fail(error: Error): void;
};

/** The subscribers of a gateway, by the user whose changes they show. */
export type Hub = {
  /** Adds a subscriber. @throws {RateLimitedError} if there are too many */
  join(subscriber: Subscriber): void;
  leave(subscriber: Subscriber): void;
  /** Wakes the subscribers of the user whose records changed. */
  wake(change: Change): void;
  /** Returns the users who have subscribers. */
  users(): string[];
  /** Makes the user's subscribers read again unless they have seen the user's current revisions. */
  catchUp(user: string, revisions: Revisions | undefined): void;
  /** Calls `findError` with the viewer of each stream, and ends the stream if it returns an error. */
  failWhere(findError: (viewer: Viewer) => Error | undefined): void;
  /** Records the seconds from receiving the announcement of a change until its events have been read. */
  observeDelay(seconds: number): void;
  /** Ends all streams, and every later stream immediately. */
  close(): void;
  readonly size: number;
};

/** The maximum number of subscribers that one caller may have on a gateway. */
const MAX_SUBSCRIBERS_PER_CALLER = 20;

/** How long a client over the limit waits before it tries again. */
const RETRY_SECONDS = 10;

/** The functions that a hub calls. */
export type HubObservers = Partial<Pick<Hub, 'observeDelay'>> & {
  /** Called with every announced change, whether or not its user has subscribers. */
  onChange?(change: Change): void;
};

/** Creates a hub that accepts up to `maxSubscribers` in total. */
export function createHub(maxSubscribers: number, { observeDelay, onChange }: HubObservers = {}): Hub {
  const users = new Map<string, Set<Subscriber>>();
  /** The subscribers of each caller, without those of services. */
  const openedBy = new Map<string, number>();
  let size = 0;
  let isClosed = false;

  const hub: Hub = {
    join(subscriber) {
      const { userId, viewer, isService = false } = subscriber;
      const { caller } = viewer;
      const opened = isService ? 0 : (openedBy.get(caller) ?? 0);
      if (size >= maxSubscribers || opened >= MAX_SUBSCRIBERS_PER_CALLER) {
        throw new RateLimitedError(RETRY_SECONDS, 'open streams');
      }
      if (!isService) openedBy.set(caller, opened + 1);
      users.set(userId, (users.get(userId) ?? new Set()).add(subscriber));
      size += 1;
      if (isClosed) subscriber.fail(new GoingAwayError());
    },
    leave(subscriber) {
      const { userId, viewer } = subscriber;
      const subscribers = users.get(userId);
      if (!subscribers?.delete(subscriber)) return;
      if (subscribers.size === 0) users.delete(userId);
      size -= 1;
      if (subscriber.isService) return;
      const { caller } = viewer;
      const opened = (openedBy.get(caller) ?? 0) - 1;
      if (opened > 0) openedBy.set(caller, opened);
      else openedBy.delete(caller);
    },
    wake(change) {
      onChange?.(change);
      for (const subscriber of users.get(change.user) ?? []) subscriber.wake(change);
    },
    users: () => [...users.keys()],
    catchUp(user, revisions) {
      for (const subscriber of users.get(user) ?? []) subscriber.catchUp(revisions);
    },
    failWhere(findError) {
      for (const subscriber of [...users.values()].flatMap((subscribers) => [...subscribers])) {
        const error = findError(subscriber.viewer);
        if (error !== undefined) subscriber.fail(error);
      }
    },
    observeDelay: (seconds) => observeDelay?.(seconds),
    close() {
      isClosed = true;
      hub.failWhere(() => new GoingAwayError());
    },
    get size() {
      return size;
    },
  };
  return hub;
}
