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
  deliveryKey,
  findUnwantedReason,
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

const unnestKeys = ({ param }: Params<DeliveryKeys>) =>
  sql.join(keyProperties.map((name) => param(name, 'text[]')));

/** Returns the condition that a delivery has one of the keys. */
const hasKey = (params: Params<DeliveryKeys>) =>
  sql<boolean>`(${sql.join(deliveryKey.map((name) => sql.ref(name)))}) in (select * from unnest(${unnestKeys(params)}))`;

const claim = defineStatement((db, params: Params<DeliveryKeys>) =>
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
    .where(hasKey(params)),
);

const postpone = defineStatement((db, params: Params<DeliveryKeys & { seconds: readonly number[] }>) => {
  const names = keyProperties.map((name) => sql.ref(name));
  const later = sql<DueDelivery>`unnest(${unnestKeys(params)}, ${params.param('seconds', 'float8[]')})`;
  return db
    .updateTable('Delivery')
    .from(later.as<'later'>(sql`later (${sql.join(names)}, seconds)`))
    .set({ dueAt: sql`now() + make_interval(secs => later.seconds)` })
    .where(
      sql<boolean>`${sql.join(
        keyProperties.map((name) => sql`${sql.ref(`Delivery.${name}`)} = ${sql.ref(`later.${name}`)}`),
        sql` and `,
      )}`,
    );
});

/** Reads claimed deliveries with their targets, and whether they are still wanted. */
const readClaimed = defineStatement((db, params: Params<DeliveryKeys>) =>
  selectWithTargets(db)
    .select(claimProperties.map((name) => `Delivery.${name}` as const))
    .select([
      'PushSubscription.ciphertext',
      'Contact.updatedAt as contactUpdatedAt',
      'Delivery.mayBeDelivered',
      sql<boolean>`${sql.ref('Delivery.expiresAt')} <= now()`.as('isExpired'),
    ])
    .where(hasKey(params)),
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
