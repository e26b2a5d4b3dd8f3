import type { EntityManager } from '@mikro-orm/postgresql';
import type { Kysely } from 'kysely';
import type { QueryResultRow } from 'pg';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import { type Database, getKysely, type Tables } from './database.ts';
import { runStatement, type Statement } from './statement.ts';
import { type Run, transaction, userTransaction } from './transaction.ts';

/** The statements that the delivery of notifications adds to the changes of other features. */
export type Outbox = {
  /** The configured channels. Without any, the outbox sends no statements. */
  readonly channels: ReadonlySet<DeliveryChannel>;
  /**
   * Queues deliveries for the notifications that the change published, and cancels the deliveries of those that it
   * superseded.
   * @param now the time of the change
   */
  queuePublished(run: Run, published: PublishedKeys, now: Time): Promise<void>;
  /**
   * Cancels these users' deliveries that the change made unwanted because the notification is settled, the channel is
   * disabled or the target was removed. If the notification is settled and a channel that can change messages has
   * delivered its message, queues the update of the message.
   */
  cancelUnwanted(run: Run, users: readonly string[]): Promise<void>;
  /** Does the same by the Kysely of an entity manager. */
  cancelUnwantedIn(db: Kysely<Tables>, users: readonly string[]): Promise<void>;
};

/** The keys of published notifications: `users[i]` owns `ids[i]`. */
export type PublishedKeys = { readonly users: readonly string[]; readonly ids: readonly string[] };

/** The dependencies of a change after which deliveries may no longer be wanted. A `Context` can be passed. */
export type CancelDependencies = {
  readonly database: Database;
  readonly outbox: Outbox;
};

/**
 * Runs a change and, in the same transaction, cancels the users' deliveries that it made unwanted.
 * @param locked the users whom the transaction locks; the change must lock the others itself
 */
export async function transactionAndCancel<Result>(
  { database, outbox }: CancelDependencies,
  users: readonly string[],
  work: (run: Run) => Promise<Result>,
  locked = users,
): Promise<Result> {
  return transaction(database, locked, async (run) => {
    const [result] = await Promise.all([work(run), outbox.cancelUnwanted(run, users)]);
    return result;
  });
}

/** Runs a change like {@link transactionAndCancel}, by an entity manager. */
export async function userTransactionAndCancel<Result>(
  { database, outbox }: CancelDependencies,
  users: readonly string[],
  work: (em: EntityManager) => Promise<Result>,
): Promise<Result> {
  return userTransaction(database.fork(), users, async (em) => {
    const result = await work(em);
    await outbox.cancelUnwantedIn(getKysely(em), users);
    return result;
  });
}

/**
 * Runs a change of one statement, which locks the user itself, and cancels the user's deliveries that it made unwanted.
 * Without channels there are none to cancel, and a single statement costs less than a transaction.
 */
export async function runAndCancel<Input extends { userId: string }, Row extends QueryResultRow>(
  { database, outbox }: CancelDependencies,
  statement: Statement<Input, Row>,
  input: Input,
): Promise<Row[]> {
  if (outbox.channels.size === 0) return runStatement(database, statement, input);
  return transactionAndCancel({ database, outbox }, [input.userId], (run) => run(statement, input), []);
}
