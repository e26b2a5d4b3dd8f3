import pg from 'pg';
import { vi } from 'vitest';
import { z } from 'zod';

/** A statement sent to PostgreSQL, with the name of a prepared one. */
export type Statement = { name?: string | undefined; text: string; values: readonly unknown[] };

/** A query config of pg. */
const Query = z.object({
  name: z.string().optional(),
  text: z.string(),
  values: z.array(z.unknown()).catch([]),
});

/** Whether a statement is one of the sweep of requests, which runs every second. */
const isOfSweep = ({ text, values }: Statement) => values.length === 0 && text.includes('"request_state"');

/**
 * Runs `work` and returns the statements that this process sent to PostgreSQL during it, except those of the sweep of
 * requests.
 */
export async function recordStatements(work: () => Promise<unknown>): Promise<Statement[]> {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await work();
    return sent.mock.calls.flatMap((call: unknown[]) => {
      const [first, second] = call;
      const { success, data } = Query.safeParse(
        typeof first === 'string' ? { text: first, values: second } : first,
      );
      return success && !isOfSweep(data) ? [data] : [];
    });
  } finally {
    sent.mockRestore();
  }
}

/**
 * Returns the statements of `work` that have this text among their values or the items of these, which excludes the gateway's background
 * work.
 */
export async function recordStatementsWith(text: string, work: () => Promise<unknown>): Promise<Statement[]> {
  return (await recordStatements(work)).filter(({ values }) => values.flat().includes(text));
}
