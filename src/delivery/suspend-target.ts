import { sql } from 'kysely';
import { type CancelDependencies, transactionAndCancel } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { Run } from '../database/transaction.ts';
import type { DeliveryData } from './load-delivery-data.ts';

/**
 * Stops sending to a target that its provider refuses, and cancels the user's other deliveries to it. A target that was
 * replaced or registered again during the attempt is not suspended.
 */
export async function suspendTarget(dependencies: CancelDependencies, refused: DeliveryData): Promise<void> {
  await transactionAndCancel(dependencies, [refused.userId], (run) => suspend(run, refused));
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

const suspendEmail = defineStatement((db, { param }: Params<Pick<DeliveryData, 'userId' | 'email'>>) =>
  db
    .updateTable('Contact')
    .set({ emailSuspendedAt: sql`now()` })
    .where('userId', '=', param('userId'))
    .where('email', '=', param('email'))
    .returning('userId'),
);

const suspendChat = defineStatement((db, { param }: Params<Pick<DeliveryData, 'userId' | 'chatMemberId'>>) =>
  db
    .updateTable('Contact')
    .set({ chatSuspendedAt: sql`now()` })
    .where('userId', '=', param('userId'))
    .where('chatMemberId', '=', param('chatMemberId'))
    .returning('userId'),
);

const removeSubscription = defineStatement(
  (db, { param }: Params<Pick<DeliveryData, 'userId' | 'target' | 'ciphertext'>>) =>
    db
      .deleteFrom('PushSubscription')
      .where('userId', '=', param('userId'))
      .where('id', '=', param('target'))
      .where('ciphertext', '=', param('ciphertext'))
      .returning('userId'),
);
