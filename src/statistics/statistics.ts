import type { EntityManager } from '@mikro-orm/postgresql';
import { shownDeliveryStates } from '../delivery/delivery.enums.ts';
import { type CredentialState, credentialStates } from '../editor-auth/editor-auth.enums.ts';
import type { CredentialCipher } from '../encryption/bound-cipher.ts';
import { notificationKinds, notificationStatuses } from '../notifications/notification.enums.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import { type Counts, StatisticsSchema } from './statistics.entity.ts';

/** The counts of the records of all users. They include all changes that were committed before `asOf`. */
export type Totals = { counts: Counts; asOf: Time };

/** Reads the latest counts; `null` until all records were counted once. */
export async function readTotals(em: EntityManager): Promise<Totals | null> {
  const found = await em.findOne(StatisticsSchema, { isOnly: true }, { fields: ['counts', 'asOf'] });
  return found?.counts && found.asOf ? { counts: found.counts, asOf: found.asOf } : null;
}

/** The number of stored credentials in a state. */
export type CredentialCount = { state: CredentialState; count: number };

/** Lists the numbers of stored credentials in each state. A credential is unreadable if the cipher lacks its key. */
export function listCredentialCounts({ counts }: Totals, cipher: CredentialCipher): CredentialCount[] {
  const toState = ({ keyId, needsReauth }: Counts['editorCredentials'][number]): CredentialState => {
    if (!cipher.canRead(keyId)) return 'unreadable';
    return needsReauth ? 'needs_reauth' : 'connected';
  };
  return credentialStates.map((state) => ({
    state,
    count: counts.editorCredentials
      .filter((group) => toState(group) === state)
      .reduce((sum, { count }) => sum + count, 0),
  }));
}

/** Reads the counts that the metrics show, including those of 0; `null` until all records were counted once. */
export async function readGauges(em: EntityManager, cipher: CredentialCipher) {
  const totals = await readTotals(em);
  if (totals === null) return null;
  const { notifications, deliveries } = totals.counts;
  return {
    notifications: notificationKinds.flatMap((kind) =>
      notificationStatuses.map((status) => {
        const found = notifications.find((group) => group.kind === kind && group.status === status);
        return { kind, status, count: found?.count ?? 0 };
      }),
    ),
    deliveries: deliveryChannels.flatMap((channel) =>
      shownDeliveryStates.map((state) => {
        const found = deliveries.find((group) => group.channel === channel && group.state === state);
        return { channel, state, count: found?.count ?? 0 };
      }),
    ),
    credentials: listCredentialCounts(totals, cipher),
  };
}
