import { openDatabase } from '../../src/database/database.ts';
import { takeStep } from '../../src/statistics/sweep.ts';
import type { TestDatabase } from './database.ts';

/** Updates the statistics from the changes so far. In the databases of tests, no sweep is due otherwise. */
export async function updateStatistics({ url, sql }: Pick<TestDatabase, 'url' | 'sql'>): Promise<void> {
  const opened = await openDatabase({ url, poolSize: 1, timeoutMs: 30_000 });
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
