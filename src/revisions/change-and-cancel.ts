import type { Database } from '../database/database.ts';
import { change, type Run } from './change.ts';
import type { Outbox } from './outbox.ts';

/** The dependencies of a change after which deliveries may no longer be wanted. A `Context` can be passed. */
export type CancelDependencies = {
  readonly database: Database;
  readonly outbox: Pick<Outbox, 'cancelUnwanted'>;
};

/** Runs a change and, in the same transaction, cancels the users' deliveries that it made unwanted. */
export async function changeAndCancel<Result>(
  { database, outbox }: CancelDependencies,
  users: readonly string[],
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  return change(database, users, async (run) => {
    const [result] = await Promise.all([work(run), outbox.cancelUnwanted(run, users)]);
    return result;
  });
}
