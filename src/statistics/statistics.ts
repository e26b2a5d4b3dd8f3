import type { EntityManager } from '@mikro-orm/postgresql';
import { getKysely } from '../database/database.ts';
import { type ShownDeliveryState, shownDeliveryStates } from '../delivery/delivery.enums.ts';
import { type CredentialState, credentialStates } from '../editor-auth/editor-auth.enums.ts';
import type { CredentialCipher } from '../encryption/credential-cipher.ts';
import {
  type NotificationKind,
  type NotificationStatus,
  notificationKinds,
  notificationStatuses,
} from '../notifications/notification.enums.ts';
import { type DeliveryChannel, deliveryChannels } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import { type WorkspaceStatus, workspaceStatuses } from '../workspaces/workspace.enums.ts';
import type { Counts } from './counts.ts';
import { StatisticsSchema } from './statistics.entity.ts';

/** The counts of the records of all users. They include all changes that were committed before `asOf`. */
export type Totals = { counts: Counts; asOf: Time };

/** Reads the counts of all users; `null` until all users were counted once. */
export async function readTotals(em: EntityManager): Promise<Totals | null> {
  const found = await em.findOne(StatisticsSchema, { isOnly: true }, { fields: ['counts', 'asOf'] });
  return found?.asOf ? { counts: found.counts, asOf: found.asOf } : null;
}

type NotificationCount = { kind: NotificationKind; status: NotificationStatus; count: number };

/** Lists the numbers of notifications by kind and status. Combinations without any are omitted. */
export function listNotificationCounts(totals: Totals): NotificationCount[] {
  return countNotifications(totals).filter(isAny);
}

function countNotifications({ counts }: Totals): NotificationCount[] {
  return notificationKinds.flatMap((kind) =>
    notificationStatuses
      .toSorted()
      .map((status) => ({ kind, status, count: counts[`notifications/${kind}/${status}`] ?? 0 })),
  );
}

/** Lists the numbers of workspaces by status. Statuses without any are omitted. */
export function listWorkspaceCounts({ counts }: Totals): { status: WorkspaceStatus; count: number }[] {
  return workspaceStatuses
    .toSorted()
    .map((status) => ({ status, count: counts[`workspaces/${status}`] ?? 0 }))
    .filter(isAny);
}

/** The number of deliveries in a state. */
export type DeliveryCount = { channel: DeliveryChannel; state: ShownDeliveryState; count: number };

/** Lists the numbers of deliveries by channel and state. Combinations without any are omitted. */
export function listDeliveryCounts(totals: Totals): DeliveryCount[] {
  return countDeliveries(totals).filter(isAny);
}

function countDeliveries({ counts }: Totals): DeliveryCount[] {
  return deliveryChannels
    .toSorted()
    .flatMap((channel) =>
      shownDeliveryStates
        .toSorted()
        .map((state) => ({ channel, state, count: counts[`deliveries/${channel}/${state}`] ?? 0 })),
    );
}

function isAny({ count }: { count: number }): boolean {
  return count > 0;
}

/** The number of stored credentials in a state. */
export type CredentialCount = { state: CredentialState; count: number };

/** Lists the numbers of stored credentials in each state. A credential is unreadable if the cipher lacks its key. */
export async function listCredentialCounts(
  em: EntityManager,
  { counts }: Totals,
  cipher: CredentialCipher,
): Promise<CredentialCount[]> {
  const sums: Record<CredentialState, number> = { connected: 0, needs_reauth: 0, unreadable: 0 };
  for (const state of ['connected', 'needs_reauth'] as const) {
    const prefix = `editorCredentials/${state}/`;
    for (const [group, count] of Object.entries(counts).filter(([name]) => name.startsWith(prefix))) {
      const keyId = group.slice(prefix.length);
      const isUnreadable = !cipher.canRead(keyId) && (await isUsed(em, keyId));
      sums[isUnreadable ? 'unreadable' : state] += count;
    }
  }
  return credentialStates.map((state) => ({ state, count: sums[state] }));
}

/**
 * Whether a credential is encrypted with a key. Key rotation increments no revision, so counts can have the old key for
 * some hours. The condition and the order make PostgreSQL use the index even if its statistics are from before the
 * rotation.
 */
async function isUsed(em: EntityManager, keyId: string): Promise<boolean> {
  const first = await getKysely(em)
    .selectFrom('EditorCredential')
    .select('keyId')
    .where('keyId', '>=', keyId)
    .orderBy('keyId')
    .limit(1)
    .executeTakeFirst();
  return first?.keyId === keyId;
}

/** The counts that the metrics show, combinations without records included. */
export type Gauges = {
  notifications: NotificationCount[];
  deliveries: DeliveryCount[];
  credentials: CredentialCount[];
};

/** Reads the counts that the metrics show; `null` until all users were counted once. */
export async function readGauges(em: EntityManager, cipher: CredentialCipher): Promise<Gauges | null> {
  const totals = await readTotals(em);
  if (totals === null) return null;
  return {
    notifications: countNotifications(totals),
    deliveries: countDeliveries(totals),
    credentials: await listCredentialCounts(em, totals, cipher),
  };
}
