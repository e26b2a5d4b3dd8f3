import { listEnabled } from '../../src/notifications/channel-decision.ts';
import { insertPublication } from '../../src/notifications/insert-publication.ts';
import { readPublications } from '../../src/notifications/read-publications.ts';
import type { DeliveryChannel } from '../../src/values/delivery-channel.enums.ts';
import { toTime } from '../../src/values/time.ts';
import type { createNotification } from '../change-requests.ts';
import { database, inTransaction } from './transaction.ts';

/** The input of a notification. */
type Input = ReturnType<typeof createNotification>;

const channelNames = { email: 'EMAIL', push: 'PUSH', chat: 'CHAT_DM' } as const;

/**
 * Publishes notifications with the gateway's own statements and returns the fields that the bench selects in GraphQL.
 */
export async function publish(inputs: readonly Input[]) {
  const providers: DeliveryChannel[] = [];
  const now = toTime(new Date());
  const users = inputs.map(({ userId }) => userId);
  const ids = inputs.map(({ id }) => id);
  const [inserted, stored] = await inTransaction([...new Set(users)], (send) =>
    Promise.all([
      Promise.all(
        inputs.map((input) => send(insertPublication(database, { ...toDraft(input), providers, now }))),
      ),
      send(readPublications(database, { users, ids })),
    ]),
  );
  const rows = new Map(stored.map((row) => [row.id, row]));
  return inputs.map(({ id }, index) => {
    const row = rows.get(id);
    if (row === undefined) throw new Error('A notification was not stored.');
    return {
      created: inserted[index]?.length === 1,
      channels: listEnabled(row.skippedChannels).map((channel) => channelNames[channel]),
      notification: { id, status: row.status.toUpperCase(), createdAt: row.createdAt },
    };
  });
}

function toDraft({ task, payload, occurredAt, ...input }: Input) {
  return {
    ...input,
    kind: 'plan_requested' as const,
    taskId: task.id,
    taskName: task.name,
    projectId: task.projectId,
    workspaceId: null,
    payload: JSON.stringify(payload.planRequested),
    occurredAt: toTime(new Date(occurredAt)),
    slot: '',
    everySlot: true,
    isRequest: true,
    expiresAt: null,
    expiresInSeconds: null,
    onExpiry: null,
  };
}
