import { z } from 'zod';
import { RateLimitedError } from '../errors.ts';

/** What a transaction changed, as it is announced when it commits: of which user, and the revision it reached. */
export const Announcement = z.object({
  user: z.string(),
  /** `user` announces that the user is gone. */
  topic: z.enum(['notifications', 'workspaces', 'editorAuth', 'user']),
  revision: z.number().optional(),
});
export type Announcement = z.output<typeof Announcement>;
export type Topic = Announcement['topic'];

/** One listener's place in the hub. */
export type Subscriber = {
  /** Called at an announcement of the subscriber's user, and with nothing after a gap in the announcements. */
  wake(announcement?: Announcement): void;
  /** Called when the gateway stops. */
  goAway(): void;
  /** The fingerprint of the key that signed the subscriber's token. */
  readonly signedBy: string;
  /** Called when that key is no longer valid. */
  withdraw(): void;
};

/** How many subscribers a user and the whole gateway may have. */
export type HubLimits = { perUser: number; inAll: number };

/** Passes announcements on to the subscribers of their user. */
export type Hub = {
  /** @throws {RateLimitedError} where there are too many */
  join(user: string, subscriber: Subscriber): void;
  leave(user: string, subscriber: Subscriber): void;
  announce(announcement: Announcement): void;
  /** Announcements may have been missed: everybody has to look. */
  resume(): void;
  /** Told how many seconds after its announcement a change was handed over to a subscriber. */
  delivered(seconds: number): void;
  /** Ends the subscriptions of tokens that were signed by a key that is no longer valid. */
  withdraw(isWithdrawn: (key: string) => boolean): void;
  /** Ends every subscription, and whichever comes later. */
  close(): void;
  readonly size: number;
};

/** A place may be free again after this time. */
const RETRY_SECONDS = 10;

/** A hub without subscribers; `delivered` is told how long changes take. */
export function createHub(limits: HubLimits, delivered: Hub['delivered'] = () => undefined): Hub {
  const users = new Map<string, Set<Subscriber>>();
  let size = 0;
  let isClosed = false;

  const everybody = () => [...users.values()].flatMap((subscribers) => [...subscribers]);

  return {
    join(user, subscriber) {
      const others = users.get(user) ?? new Set();
      if (size >= limits.inAll || others.size >= limits.perUser) throw new RateLimitedError(RETRY_SECONDS);
      users.set(user, others.add(subscriber));
      size += 1;
      if (isClosed) subscriber.goAway();
    },
    leave(user, subscriber) {
      const others = users.get(user);
      if (!others?.delete(subscriber)) return;
      if (others.size === 0) users.delete(user);
      size -= 1;
    },
    announce(announcement) {
      for (const subscriber of users.get(announcement.user) ?? []) subscriber.wake(announcement);
    },
    resume() {
      for (const subscriber of everybody()) subscriber.wake();
    },
    delivered,
    withdraw(isWithdrawn) {
      for (const subscriber of everybody()) if (isWithdrawn(subscriber.signedBy)) subscriber.withdraw();
    },
    close() {
      isClosed = true;
      for (const subscriber of everybody()) subscriber.goAway();
    },
    get size() {
      return size;
    },
  };
}
