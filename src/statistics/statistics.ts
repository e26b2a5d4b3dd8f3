import { type EntityManager, query } from '../database/database.ts';
import type { CredentialCipher } from '../encryption/credential-cipher.ts';
import type { NotificationKind, NotificationStatus } from '../notifications/notification.enums.ts';
import type { WorkspaceStatus } from '../workspaces/workspace.enums.ts';

/** How the stored credentials of all users stand. */
export const credentialStates = ['connected', 'needs_reauth', 'unreadable'] as const;
export type CredentialState = (typeof credentialStates)[number];

/** Notifications of all users by kind and status; pairs without any are left out. */
export async function countNotificationsByKindAndStatus(
  em: EntityManager,
): Promise<{ kind: NotificationKind; status: NotificationStatus; count: number }[]> {
  return query(em)
    .selectFrom('Notification')
    .select(['kind', 'status', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy(['kind', 'status'])
    .orderBy('kind')
    .orderBy('status')
    .execute();
}

/** Workspaces of all users by status; statuses without any are left out. */
export async function countWorkspacesByStatus(
  em: EntityManager,
): Promise<{ status: WorkspaceStatus; count: number }[]> {
  return query(em)
    .selectFrom('Workspace')
    .select(['status', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy('status')
    .orderBy('status')
    .execute();
}

/** Stored credentials of all users by state; every state is there. */
export async function countCredentialsByState(
  em: EntityManager,
  cipher: CredentialCipher,
): Promise<{ state: CredentialState; count: number }[]> {
  const rows = await query(em)
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
