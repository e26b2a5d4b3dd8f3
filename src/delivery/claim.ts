import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { transaction } from '../database/transaction.ts';
import type { Notification } from '../notifications/notification.entity.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Delivery } from './delivery.entity.ts';
import type { CancelReason } from './delivery.enums.ts';
import {
  type DeliveryKeys,
  findUnwantedReason,
  hasKey,
  hasKeyOf,
  isExpired,
  isUnfinished,
  keyProperties,
  selectWithTargets,
  toKeys,
} from './select-deliveries.ts';

/** Longer than an attempt may take. A sender that has not stored a result by then is assumed to have stopped. */
export const LEASE_SECONDS = 60;

/** A delivery that is due: it waits for an attempt, or the lease of its sender has expired. */
export type DueDelivery = Pick<Delivery, (typeof keyProperties)[number] | 'provider'>;

const claimProperties = [
  ...keyProperties,
  ...(['provider', 'step', 'claims', 'attempts', 'receipt', 'createdAt', 'expiresAt'] as const),
];

/** A claimed delivery. */
export type Claim = Pick<Delivery, (typeof claimProperties)[number]>;

/** Which of the due deliveries are sent now, and after how many seconds others are due again. The rest stays due. */
export type Choice = { chosen: DueDelivery[]; later: { delivery: DueDelivery; seconds: number }[] };

/**
 * Finds the due deliveries of a channel, oldest first, claims those that `choose` returns, and reads what they send.
 * Deliveries that another sender is claiming, or a change of their user has locked, are skipped. Nothing stays locked:
 * claimed deliveries are due again when the lease expires.
 * @param maximum the maximum number of deliveries to find
 */
export function claimDue(
  database: Database,
  channel: DeliveryChannel,
  maximum: number,
  choose: (due: readonly DueDelivery[]) => Choice,
): Promise<DeliveryData[]> {
  return transaction(database, [], async (run) => {
    const { chosen, later } = choose(await run(lockDue, { channel, maximum }));
    const seconds = later.map((one) => one.seconds);
    const [, , claimed, notifications] = await Promise.all([
      later.length > 0 && run(postpone, { ...toKeys(later.map(({ delivery }) => delivery)), seconds }),
      chosen.length > 0 && run(claim, toKeys(chosen)),
      chosen.length > 0 ? run(readClaimed, toKeys(chosen)) : [],
      chosen.length > 0 ? run(readNotifications, toKeys(chosen)) : [],
    ]);
    return claimed.map((delivery) => ({
      ...delivery,
      unwanted: findUnwantedReason(delivery),
      notification: notifications.find(
        ({ userId, id }) => userId === delivery.userId && id === delivery.notificationId,
      ),
    }));
  });
}

const lockDue = defineStatement((db, { param }: Params<{ channel: DeliveryChannel; maximum: number }>) =>
  db
    .selectFrom('Delivery')
    .select([...keyProperties, 'provider'])
    .where('channel', '=', param('channel'))
    .where(isUnfinished)
    .where('dueAt', '<=', sql<Delivery['dueAt']>`now()`)
    .orderBy('dueAt')
    .limit(param('maximum', 'int'))
    .forUpdate()
    .skipLocked(),
);

const claim = defineStatement((db, { param }: Params<DeliveryKeys>) =>
  db
    .updateTable('Delivery')
    .set((eb) => ({
      state: 'sending',
      claims: eb('claims', '+', 1),
      attempts: eb('attempts', '+', 1),
      reason: sql`case state when 'sending' then 'lease_expired' else reason end`,
      mayBeDelivered: sql<boolean>`${sql.ref('mayBeDelivered')} or state = 'sending'`,
      providerCode: sql`case state when 'sending' then null else ${sql.ref('providerCode')} end`,
      dueAt: sql`now() + make_interval(secs => ${sql.lit(LEASE_SECONDS)})`,
      updatedAt: sql`now()`,
    }))
    .where(hasKey((name) => param(name, 'text[]'))),
);

const postpone = defineStatement((db, { param }: Params<DeliveryKeys & { seconds: readonly number[] }>) => {
  const arrays = [...keyProperties.map((name) => param(name, 'text[]')), param('seconds', 'float8[]')];
  const names = sql.join([...keyProperties, 'seconds'].map((name) => sql.ref(name)));
  return db
    .updateTable('Delivery')
    .from(sql`unnest(${sql.join(arrays)})`.as<'later'>(sql`later (${names})`))
    .set({ dueAt: sql`now() + make_interval(secs => later.seconds)` })
    .where(hasKeyOf('later'));
});

/** Reads claimed deliveries with their targets, and whether they are still wanted. */
const readClaimed = defineStatement((db, { param }: Params<DeliveryKeys>) =>
  selectWithTargets(db)
    .select(claimProperties.map((name) => `Delivery.${name}` as const))
    .select([
      'PushSubscription.ciphertext',
      'Contact.updatedAt as contactUpdatedAt',
      'Delivery.mayBeDelivered',
      isExpired,
    ])
    .where(hasKey((name) => param(name, 'text[]'))),
);

/** Reads the notifications of claimed deliveries. */
const readNotifications = defineStatement((db, { param }: Params<DeliveryKeys>) => {
  const keys = sql.join([param('userId', 'text[]'), param('notificationId', 'text[]')]);
  return db
    .selectFrom('Notification')
    .selectAll()
    .where(sql<boolean>`(${sql.ref('userId')}, id) in (select * from unnest(${keys}))`);
});

/**
 * A claimed delivery with its targets; columns of missing joined rows are null. `unwanted`: why it must not be sent.
 * `notification`: `undefined` if it was deleted.
 */
export type DeliveryData = ReturnType<ReturnType<typeof readClaimed>['convertRows']>[number] & {
  unwanted: CancelReason | null;
  notification: Notification | undefined;
};
