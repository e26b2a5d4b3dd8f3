import type { EntityManager } from '../database/database.ts';
import { change, type Run } from '../revisions/change.ts';
import type { Outbox } from '../revisions/outbox.ts';

/** Changes a user's notifications or preferences and cancels the deliveries that are no longer wanted, in one transaction. */
export async function settle<Result>(
  em: EntityManager,
  outbox: Outbox,
  userId: string,
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  return change(em, [userId], async (run) => {
    const [result] = await Promise.all([work(run), outbox.cancelUnwanted(run, [userId])]);
    return result;
  });
}
