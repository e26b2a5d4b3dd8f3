import { sql } from 'kysely';
import { defineStatement, type Slots } from '../database/statement.ts';
import type { Run } from '../revisions/change.ts';
import { type CancelDependencies, changeAndCancel } from '../revisions/change-and-cancel.ts';
import type { DeliveryData } from './load-delivery-data.ts';

/**
 * Stops sending to a target that its provider refuses, and cancels the user's other deliveries to it. A target that was
 * replaced or registered again during the attempt is not suspended.
 */
export async function suspendTarget(dependencies: CancelDependencies, refused: DeliveryData): Promise<void> {
  await changeAndCancel(dependencies, [refused.userId], (run) => suspend(run, refused));
}

function suspend(run: Run, { userId, channel, target, email, chatMemberId, ciphertext }: DeliveryData) {
  switch (channel) {
    case 'email':
      return run(suspendEmail, { userId, email });
    case 'chat':
      return run(suspendChat, { userId, chatMemberId });
    case 'push':
      return run(removeSubscription, { userId, target, ciphertext });
  }
}

const suspendEmail = defineStatement((db, { slot }: Slots<Pick<DeliveryData, 'userId' | 'email'>>) =>
  db
    .updateTable('Contact')
    .set({ emailSuspendedAt: sql`now()` })
    .where('userId', '=', slot('userId'))
    .where('email', '=', slot('email'))
    .returning('userId'),
);

const suspendChat = defineStatement((db, { slot }: Slots<Pick<DeliveryData, 'userId' | 'chatMemberId'>>) =>
  db
    .updateTable('Contact')
    .set({ chatSuspendedAt: sql`now()` })
    .where('userId', '=', slot('userId'))
    .where('chatMemberId', '=', slot('chatMemberId'))
    .returning('userId'),
);

const removeSubscription = defineStatement(
  (db, { slot }: Slots<Pick<DeliveryData, 'userId' | 'target' | 'ciphertext'>>) =>
    db
      .deleteFrom('PushSubscription')
      .where('userId', '=', slot('userId'))
      .where('id', '=', slot('target'))
      .where('ciphertext', '=', slot('ciphertext'))
      .returning('userId'),
);
