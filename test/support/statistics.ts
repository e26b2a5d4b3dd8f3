import { openDatabase } from '../../src/database/database.ts';
import { takeStep } from '../../src/statistics/sweep.ts';

/** Updates the statistics from the changes so far. In the databases of tests, no sweep is due otherwise. */
export async function updateStatistics({ url }: { url: string }): Promise<void> {
  const opened = await openDatabase({ url, poolSize: 2, timeoutMs: 30_000 });
  const sql = (text: string): Promise<unknown[]> => opened.orm.em.getConnection().execute(text);
  try {
    do {
      await sql(`update statistics set due_at = now()`);
      await takeStep(opened.fork(), new AbortController().signal);
    } while ((await sql('select from statistics where sweep_started_at is not null')).length > 0);
  } finally {
    await sql(`update statistics set due_at = '9999-01-01'`);
    await opened.close();
  }
}
