import type { Viewer } from '../../auth/viewer.ts';
import { readUsers } from '../../database/change-user.ts';
import { GoingAwayError, NotFoundError } from '../../errors/gateway-errors.ts';
import type { Change, Hub, Subscriber } from '../../live/hub.ts';
import type { Revisions } from '../../revisions/revisions.ts';
import { toMilliseconds } from '../../values/time.ts';
import { type NotificationDependencies, readWhole } from '../change-notifications.ts';
import { isDue } from '../lifecycle.ts';
import type { Notification } from '../notification.entity.ts';
import { storeExpiries } from './answer-notification.ts';

/** The caller of a request, and how it is woken. A `Context` can be passed. */
export type WaitContext = NotificationDependencies & {
  readonly viewer: Viewer;
  readonly hub: Hub;
  /** Calls `leave` when the caller disconnects. */
  onLeave(leave: () => void): void;
};

/** A request, without the notification's texts. */
export type FoundRequest = Pick<
  Notification,
  | 'id'
  | 'userId'
  | 'taskId'
  | 'kind'
  | 'requestState'
  | 'status'
  | 'resolvedAt'
  | 'expiresAt'
  | 'onExpiry'
  | 'answer'
  | 'receipt'
>;

type Key = { userId: string; id: string };

/**
 * Reads a request. If it is open, waits until it is settled, for at most `waitMs`. A request that is settled before the
 * wait begins is returned at once, so an answer is never missed. A wait is a subscriber, and uses no connection to the
 * database. It ends early if the gateway shuts down.
 * @param admit throws if the caller may not read the request
 * @throws {NotFoundError} if the user has no such notification, or it asks for no answer
 * @throws {RateLimitedError} if there are too many subscribers
 * @throws {UnauthenticatedError} if the caller's token expires
 */
export async function awaitRequest(
  context: WaitContext,
  key: Key,
  waitMs: number,
  admit: (request: FoundRequest) => void,
): Promise<FoundRequest> {
  const { hub, viewer, onLeave } = context;
  const until = performance.now() + waitMs;
  const read = (wait?: Wait) => readForWait(context, key, admit, until, wait);
  const first = await read();
  if (typeof first !== 'number') return first;
  // A runner of one task is limited like a user.
  const wait = new Wait(viewer, key.userId, viewer.task === undefined);
  hub.join(wait);
  onLeave(() => wait.end());
  try {
    for (;;) {
      const next = await read(wait);
      if (typeof next !== 'number') return next;
      await wait.untilWoken(next);
      if (wait.failure !== undefined) throw wait.failure;
    }
  } finally {
    hub.leave(wait);
  }
}

/**
 * Reads a request and returns it, or only how many milliseconds to wait for a change of it: what is a variable of a
 * function that waits, stays in memory, and texts of a request can be long.
 */
async function readForWait(
  context: WaitContext,
  key: Key,
  admit: (request: FoundRequest) => void,
  until: number,
  wait: Wait | undefined,
): Promise<FoundRequest | number> {
  const { request, isOpen, revision } = await readRequest(context, key, admit);
  if (wait) wait.seen = revision;
  const left = until - performance.now();
  return isOpen && left > 0 && !wait?.hasEnded ? Math.min(left, timeToExpiry(request)) : request;
}

/** How long after an expiry it is looked for. The clocks of gateway and database may differ. */
const EXPIRY_MARGIN_MS = 50;
const EXPIRY_RETRY_MS = 1000;

function timeToExpiry({ expiresAt }: FoundRequest): number {
  if (expiresAt === null) return Number.POSITIVE_INFINITY;
  const left = toMilliseconds(expiresAt) - Date.now();
  return left > 0 ? left + EXPIRY_MARGIN_MS : EXPIRY_RETRY_MS;
}

/** Reads a request, and stores its expiry first if that is due. Returns the user's revision that it belongs to, too. */
async function readRequest(
  context: WaitContext,
  { userId, id }: Key,
  admit: (request: FoundRequest) => void,
) {
  const read = async () => {
    const {
      found: [request],
      known: [user],
    } = await readUsers(context.database, [userId], { read: (run) => run(readWhole, { userId, id }) });
    if (request === undefined || user === undefined) throw new NotFoundError();
    // After a deletion of the user, the ID may be that of another task's notification.
    admit(request);
    if (request.requestState === 'none') throw new NotFoundError();
    return { request, user };
  };
  let { request, user } = await read();
  if (isDue(request, user.at)) {
    await storeExpiries(context, userId, [id]);
    ({ request, user } = await read());
  }
  return { request, isOpen: request.requestState === 'open', revision: user.notifications };
}

/** A caller that waits for a change of a user's notifications. */
class Wait implements Subscriber {
  readonly viewer: Viewer;
  readonly userId: string;
  readonly isService: boolean;
  /** The user's revision that was read last. */
  seen = 0;
  hasEnded = false;
  failure: Error | undefined;
  #isWoken = false;
  #wakeUp: (() => void) | undefined;

  constructor(viewer: Viewer, userId: string, isService: boolean) {
    this.isService = isService;
    this.viewer = viewer;
    this.userId = userId;
  }

  wake({ topic, revision }: Change): void {
    if (topic === 'user' || (topic === 'notifications' && revision > this.seen)) this.#wake();
  }

  catchUp(revisions: Revisions | undefined): void {
    if (revisions?.notifications !== this.seen) this.#wake();
  }

  fail(error: Error): void {
    if (!(error instanceof GoingAwayError)) this.failure = error;
    this.end();
  }

  end(): void {
    this.hasEnded = true;
    this.#wake();
  }

  /** Resolves when it has been woken since the last call, or after a time. */
  async untilWoken(timeoutMs: number): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        const timer = Number.isFinite(timeoutMs) ? setTimeout(resolve, timeoutMs) : undefined;
        this.#wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isWoken = false;
    this.#wakeUp = undefined;
  }

  #wake(): void {
    this.#isWoken = true;
    this.#wakeUp?.();
  }
}
