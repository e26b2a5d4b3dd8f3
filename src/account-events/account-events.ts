import { z } from 'zod';
import type { Database } from '../database/database.ts';
import { createEditorAuthSource, type EditorAuthEvent } from '../editor-auth/editor-auth.ts';
import type { CredentialCipher } from '../encryption/bound-cipher.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { Source, StreamPlan } from '../live/source.ts';
import { type ActiveCounts, countActive } from '../notifications/active-counts.ts';
import { createNotificationSource, type NotificationEvent } from '../notifications/notification-events.ts';
import { cursorEpoch, formatEventCursor, getLatestCursor } from '../revisions/event-cursor.ts';
import type { Revisions } from '../revisions/revisions.ts';
import { decodeCursor, encodeCursor } from '../values/cursor.ts';
import { createWorkspaceSource, type WorkspaceEvent } from '../workspaces/workspace-events.ts';

/** The start of a stream, and whether it continues after the client's cursor. */
export type StreamStart = { resumed: boolean };

/** Counts after a change, with the event cursor of a revision that was read before them. */
type CountsWithCursor = ActiveCounts & { cursor: string };
type CountsEvent = CountsWithCursor & { revision: number };

type Change = NotificationEvent | CountsEvent | WorkspaceEvent | EditorAuthEvent;

/** What an event of an account contains. */
export type AccountEventContent =
  | StreamStart
  | NotificationEvent
  | CountsWithCursor
  | WorkspaceEvent
  | EditorAuthEvent;

/** An event of an account, and the cursor that resumes the stream after it. */
export type AccountEvent = { content: AccountEventContent; cursor: string };

/** Which events a stream delivers: those after a cursor, or from now on; of which types. */
export type AccountSelection = {
  userId: string;
  after: AccountCursor | undefined;
  types: ReadonlySet<AccountEventType>;
  /** The properties that are read of all records; see `findSelectedProperties`. */
  properties: ReadonlySet<string> | undefined;
};

/**
 * Plans a stream of the changes of an account. It begins after the cursor, or now if there is none or it cannot be
 * resumed. Types that are not selected keep their revisions in the cursors.
 */
export function planAccountEvents(
  database: Database,
  cipher: CredentialCipher,
  { userId, after, types, properties }: AccountSelection,
): StreamPlan<Change, AccountEvent> {
  const selected = accountEventTypes.filter((type) => types.has(type));
  const create: Record<AccountEventType, () => Source<Change>> = {
    notifications: () => createNotificationSource(database, userId, undefined, properties),
    counts: () => createCountsSource(database, userId),
    workspaces: () => createWorkspaceSource(database, userId, properties),
    editorAuth: () => createEditorAuthSource(database, cipher, userId),
  };
  let begin = getLatestAccountCursor(undefined).seen;
  return {
    userId,
    sources: selected.map((type) => create[type]()),
    start(revisions) {
      const latest = getLatestAccountCursor(revisions);
      const resumed = after !== undefined && canResume(after, latest);
      begin = resumed ? after.seen : latest.seen;
      const cursor = formatAccountCursor({ epoch: latest.epoch, seen: begin });
      return { seen: selected.map((type) => begin[type]), first: [{ content: { resumed }, cursor }] };
    },
    deliver(content, { epoch = '', seen }) {
      const revisions = Object.fromEntries(selected.map((type, i) => [type, seen[i]]));
      return { content, cursor: formatAccountCursor({ epoch, seen: { ...begin, ...revisions } }) };
    },
  };
}

/** The counts of a user's active notifications: the current ones after each change of notifications. */
function createCountsSource(database: Database, userId: string): Source<CountsEvent> {
  return {
    topic: 'notifications',
    isState: true,
    getStartRevision: (revisions) => getLatestCursor(revisions).revision,
    async read(_after, revisions) {
      const latest = getLatestCursor(revisions);
      const { revision } = latest;
      const counts = await countActive(database, userId);
      return { events: [{ ...counts, cursor: formatEventCursor(latest), revision }], seen: revision };
    },
  };
}

/** The types of events that a stream of an account can deliver, in the order of their revisions in a cursor. */
export const accountEventTypes = ['notifications', 'counts', 'workspaces', 'editorAuth'] as const;
export type AccountEventType = (typeof accountEventTypes)[number];

/**
 * The last changes that a client has received: a revision of each type, within an epoch. The epoch is empty if the user
 * had no revisions.
 */
export type AccountCursor = {
  readonly epoch: string;
  readonly seen: Readonly<Record<AccountEventType, number>>;
};

const Revision = z.int().min(0);
const Content = z.tuple([cursorEpoch, Revision, Revision, Revision, Revision]);

/** Formats a cursor as a string that is opaque to clients. */
export function formatAccountCursor({ epoch, seen }: AccountCursor): string {
  return encodeCursor([epoch, ...accountEventTypes.map((type) => seen[type])]);
}

/**
 * Parses the cursor of the argument `after`.
 * @throws {ValidationError} if it is not a cursor of `accountEvents`
 */
export function parseAccountCursor(cursor: string): AccountCursor {
  const content = decodeCursor(Content, cursor);
  if (content === undefined) {
    const message = 'must be a cursor of `accountEvents`';
    throw new ValidationError([{ path: ['after'], message, value: cursor }]);
  }
  const [epoch, notifications, counts, workspaces, editorAuth] = content;
  return { epoch, seen: { notifications, counts, workspaces, editorAuth } };
}

/** Returns the cursor of a user's latest changes. */
function getLatestAccountCursor(revisions: Revisions | undefined): AccountCursor {
  const { epoch = '', notifications = 0, workspaces = 0, editorAuth = 0 } = revisions ?? {};
  return { epoch, seen: { notifications, counts: notifications, workspaces, editorAuth } };
}

/**
 * Returns whether a stream can continue after a cursor: it is of the current epoch, or of the time before the user's
 * first change, and not ahead of the latest changes.
 */
export function canResume({ epoch, seen }: AccountCursor, latest: AccountCursor): boolean {
  const isOfEpoch = epoch === latest.epoch || epoch === '';
  return isOfEpoch && accountEventTypes.every((type) => seen[type] <= latest.seen[type]);
}
