import { randomUUID } from 'node:crypto';
import { DatabaseError } from 'pg';
import { ConflictError } from '../errors/gateway-errors.ts';
import type { Writer } from '../live/announcer.ts';
import { change } from '../revisions/change.ts';
import type { Time } from '../values/time.ts';
import { insertPublication } from './insert-publication.ts';
import type { Notification } from './notification.entity.ts';
import type { NotificationDraft } from './notification-draft.ts';
import type { Channels } from './preferences/preferences.ts';
import { readPublications } from './read-publications.ts';

/** A draft, whose inbox it goes to, and where it is in the arguments. */
export type PublishRequest = { userId: string; draft: NotificationDraft; path: readonly (string | number)[] };

/** `created` is false if the same notification was stored before. */
export type Publication = { notification: Notification; created: boolean; channels: Channels };

/**
 * Stores notifications in order, all or none, and returns each as the last of them left it. One supersedes the active
 * one of the same task and kind; one that occurred before the newest of its task and kind is stored as resolved.
 * @throws {ConflictError} if an ID is taken by other content
 */
export async function publishNotifications(
  { em, announce }: Writer,
  requests: readonly PublishRequest[],
  now: Time,
): Promise<Publication[]> {
  if (requests.length === 0) return [];
  const drafts = requests.map(({ userId, draft }) => ({
    ...draft,
    userId,
    id: draft.id ?? randomUUID(),
    payload: JSON.stringify(draft.payload),
    now,
  }));
  const users = drafts.map(({ userId }) => userId);
  const ids = drafts.map(({ id }) => id);
  const [inserted, stored] = await change(em, users, (run) =>
    Promise.all([
      Promise.all(
        drafts.map((draft, index) =>
          run(insertPublication, draft, (error) =>
            isTaken(error) ? idTaken(requests[index], draft.id) : error,
          ),
        ),
      ),
      run(readPublications, { users, ids }),
    ]),
  );
  const reached = new Map<string, number>();
  for (const [index, [row]] of inserted.entries()) {
    const user = users[index];
    if (row !== undefined && user !== undefined) reached.set(user, row.notifications);
  }
  if (reached.size > 0) {
    announce(Array.from(reached, ([user, revision]) => ({ user, topic: 'notifications', revision })));
  }
  return drafts.map(({ userId, id }, index) => {
    const row = stored.find((row) => row.userId === userId && row.id === id);
    if (row === undefined) throw new Error('A notification was not stored.');
    const { emailEnabled, pushEnabled, chatDmEnabled, ...notification } = row;
    const channels = {
      emailEnabled: emailEnabled ?? true,
      pushEnabled: pushEnabled ?? true,
      chatDmEnabled: chatDmEnabled ?? true,
    };
    return { notification, created: inserted[index]?.length === 1, channels };
  });
}

/** A draft with the ID of a stored notification is inserted only where its content differs. */
function isTaken(error: Error): boolean {
  return error instanceof DatabaseError && error.constraint === 'notification_pkey';
}

function idTaken(request: PublishRequest | undefined, id: string): ConflictError {
  const message = 'is taken by a notification with other content';
  const issue = { path: [...(request?.path ?? []), 'id'], message, value: id };
  return new ConflictError('A notification with this ID and other content already exists.', [issue]);
}
