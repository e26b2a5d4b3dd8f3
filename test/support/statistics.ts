import { openDatabase } from '../../src/database/database.ts';
import { countRecords } from '../../src/statistics/count.ts';

/** Updates the statistics. In the databases of tests, no count is due otherwise. */
export async function updateStatistics({ url }: { url: string }): Promise<void> {
  const opened = await openDatabase({ url, poolSize: 2, timeoutMs: 30_000 });
  try {
    await countRecords(opened, new AbortController().signal);
    await opened.orm.em.getConnection().execute(`update statistics set due_at = '9999-01-01'`);
  } finally {
    await opened.close();
  }
}

// For the commands of the documentation.
if (import.meta.main) await updateStatistics({ url: process.argv[2] ?? '' });
