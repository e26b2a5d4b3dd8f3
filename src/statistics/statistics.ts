import type { EntityManager } from '@mikro-orm/postgresql';
import { getKysely } from '../database/database.ts';
import type { CredentialCipher } from '../encryption/credential-cipher.ts';
import type { NotificationKind, NotificationStatus } from '../notifications/notification.enums.ts';
import type { WorkspaceStatus } from '../workspaces/workspace.enums.ts';

/** The states of a stored credential. */
export const credentialStates = ['connected', 'needs_reauth', 'unreadable'] as const;
export type CredentialState = (typeof credentialStates)[number];

/** Counts notifications of all users by kind and status. Combinations without any are omitted. */
export async function countNotificationsByKindAndStatus(
  em: EntityManager,
): Promise<{ kind: NotificationKind; status: NotificationStatus; count: number }[]> {
  return getKysely(em)
    .selectFrom('Notification')
    .select(['kind', 'status', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy(['kind', 'status'])
    .orderBy('kind')
    .orderBy('status')
    .execute();
}

/** Counts workspaces of all users by status. Statuses without any are omitted. */
export async function countWorkspacesByStatus(
  em: EntityManager,
): Promise<{ status: WorkspaceStatus; count: number }[]> {
  return getKysely(em)
    .selectFrom('Workspace')
    .select(['status', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy('status')
    .orderBy('status')
    .execute();
}

/** Counts stored credentials of all users in each state. */
export async function countCredentialsByState(
  em: EntityManager,
  cipher: CredentialCipher,
): Promise<{ state: CredentialState; count: number }[]> {
  const rows = await getKysely(em)
    .selectFrom('EditorCredential')
    .select(['keyId', 'reauthReason', (eb) => eb.fn.countAll<number>().as('count')])
    .where('keyId', 'is not', null)
    .groupBy(['keyId', 'reauthReason'])
    .execute();
  const classify = ({ keyId, reauthReason }: (typeof rows)[number]): CredentialState => {
    if (keyId !== null && !cipher.canRead(keyId)) return 'unreadable';
    return reauthReason === null ? 'connected' : 'needs_reauth';
  };
  return credentialStates.map((state) => {
    const counts = rows.filter((row) => classify(row) === state).map(({ count }) => count);
    return { state, count: counts.reduce((sum, count) => sum + count, 0) };
  });
}
