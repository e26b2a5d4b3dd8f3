import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { type CancelDependencies, transactionAndCancel } from '../../database/outbox.ts';
import { defineStatement, type Params } from '../../database/statement.ts';
import type { NotificationKind } from '../../notifications/notification.enums.ts';
import { defaultChannels } from '../../notifications/preferences/channels.ts';
import { preferenceColumns } from '../../notifications/preferences/preference-statements.ts';
import { findRevisions } from '../../revisions/revisions.ts';
import type { Time } from '../../values/time.ts';
import type { EmailTopic } from './unsubscribe-token.ts';

/** Whether a user has received a notification and has not been deleted since. Links of deleted users are invalid. */
export async function isKnownUser(database: Database, userId: string): Promise<boolean> {
  const revisions = await findRevisions(database, userId);
  return revisions !== undefined && revisions.notifications > 0;
}

/**
 * Turns off email about one kind of notification, and cancels what is not sent yet. Other channels and kinds keep their
 * values. Returns `false` if the user was deleted.
 */
export async function unsubscribe(
  dependencies: CancelDependencies,
  { userId, kind }: EmailTopic,
  now: Time,
): Promise<boolean> {
  // `transactionAndCancel` locks the user's row of `UserRevision`, and would create it for a deleted user.
  if (!(await isKnownUser(dependencies.database, userId))) return false;
  const owners = await transactionAndCancel(dependencies, [userId], (run) =>
    run(disableEmail, { userId, kind, now }),
  );
  return owners.length > 0;
}

/** Stores the preference unless the user was deleted, and returns the user. */
const disableEmail = defineStatement(
  (db, { param }: Params<{ userId: string; kind: NotificationKind; now: Time }>) => {
    const now = param('now', 'timestamptz');
    const push = sql.lit(defaultChannels.pushEnabled);
    const chatDm = sql.lit(defaultChannels.chatDmEnabled);
    return db
      .with('owner', (db) =>
        db
          .selectFrom('UserRevision')
          .select('userId')
          .where('userId', '=', param('userId'))
          .where('notifications', '>', 0),
      )
      .with('stored', (db) =>
        db
          .insertInto('NotificationPreference')
          .columns(preferenceColumns)
          .expression(
            sql`select user_id, ${param('kind', 'text')}, false, ${push}, ${chatDm}, ${now}, ${now} from owner`,
          )
          .onConflict((conflict) =>
            conflict
              .columns(['userId', 'notificationKind'])
              .doUpdateSet((eb) => ({ emailEnabled: false, updatedAt: eb.ref('excluded.updatedAt') }))
              .where('NotificationPreference.emailEnabled', '=', true),
          )
          .returning('userId'),
      )
      .selectFrom('owner')
      .select('userId');
  },
);
