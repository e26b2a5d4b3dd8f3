import type { Viewer } from '../auth/viewer.ts';
import { GoingAwayError, RateLimitedError } from '../errors/gateway-errors.ts';
import type { Revisions } from '../revisions/revisions.ts';

/** What of a user can change; `user` is the deletion of everything. */
export const topics = ['notifications', 'workspaces', 'editorAuth', 'user'] as const;
export type Topic = (typeof topics)[number];

/** A committed change: the user, what changed, and the revision that the user's row reached. */
export type Change = { user: string; topic: Topic; revision: number };

/** An open stream of one user's changes. */
export type Subscriber = {
  readonly viewer: Viewer;
  /** The user whose changes the stream shows: the viewer, or another user whom the viewer may read. */
  readonly userId: string;
  /** Called at every change of the user. */
  wake(change: Change): void;
  /** Called with what is in the database now; undefined if nothing of the user ever changed. */
  compare(state: Revisions | undefined): void;
  /** Ends the stream with an error. */
  fail(error: Error): void;
};

/** The maximum number of streams that one viewer may open, and that the whole gateway may have. */
export type HubLimits = { perViewer: number; inAll: number };

/** The subscribers of a gateway, by the user whose changes they show. */
export type Hub = {
  /** @throws {RateLimitedError} where there are too many */
  join(subscriber: Subscriber): void;
  leave(subscriber: Subscriber): void;
  /** Wakes the subscribers of a change's user. */
  announce(change: Change): void;
  /** The users who have subscribers. */
  users(): string[];
  /** Has the subscribers of a user look whether they have seen everything. */
  compare(user: string, state: Revisions | undefined): void;
  /** Ends every subscription for which there is an error. */
  fail(errorFor: (viewer: Viewer) => Error | undefined): void;
  /** Told how many seconds after its announcement a change was handed over to a subscriber. */
  delivered(seconds: number): void;
  /** Ends every subscription, and whichever comes later. */
  close(): void;
  readonly size: number;
};

/** A place may be free again after this time. */
const RETRY_SECONDS = 10;

/** A hub without subscribers; `delivered` is told how long changes take. */
export function createHub(limits: HubLimits, delivered: Hub['delivered'] = () => undefined): Hub {
  const users = new Map<string, Set<Subscriber>>();
  const openedBy = new Map<string, number>();
  let size = 0;
  let isClosed = false;

  const hub: Hub = {
    join(subscriber) {
      const { userId, viewer } = subscriber;
      const opened = openedBy.get(viewer.userId) ?? 0;
      if (size >= limits.inAll || opened >= limits.perViewer) throw new RateLimitedError(RETRY_SECONDS);
      openedBy.set(viewer.userId, opened + 1);
      users.set(userId, (users.get(userId) ?? new Set()).add(subscriber));
      size += 1;
      if (isClosed) subscriber.fail(new GoingAwayError());
    },
    leave(subscriber) {
      const { userId, viewer } = subscriber;
      const subscribers = users.get(userId);
      if (!subscribers?.delete(subscriber)) return;
      if (subscribers.size === 0) users.delete(userId);
      const opened = (openedBy.get(viewer.userId) ?? 0) - 1;
      if (opened > 0) openedBy.set(viewer.userId, opened);
      else openedBy.delete(viewer.userId);
      size -= 1;
    },
    announce(change) {
      for (const subscriber of users.get(change.user) ?? []) subscriber.wake(change);
    },
    users: () => [...users.keys()],
    compare(user, state) {
      for (const subscriber of users.get(user) ?? []) subscriber.compare(state);
    },
    fail(errorFor) {
      for (const subscriber of [...users.values()].flatMap((subscribers) => [...subscribers])) {
        const error = errorFor(subscriber.viewer);
        if (error !== undefined) subscriber.fail(error);
      }
    },
    delivered,
    close() {
      isClosed = true;
      hub.fail(() => new GoingAwayError());
    },
    get size() {
      return size;
    },
  };
  return hub;
}
