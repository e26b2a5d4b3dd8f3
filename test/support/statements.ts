import pg from 'pg';
import { vi } from 'vitest';

/** A statement as it went to PostgreSQL. */
export type Statement = { text: string; values: readonly unknown[] };

/** Runs `work` and answers the statements that this process sent meanwhile; they are run as ever. */
export async function statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await work();
    return sent.mock.calls.flatMap((call: unknown[]) => {
      const [text, values] = call;
      return typeof text === 'string' ? [{ text, values: Array.isArray(values) ? values : [] }] : [];
    });
  } finally {
    sent.mockRestore();
  }
}

/** The statements of `work` that have this text among their values; what a gateway does beside is not counted. */
export async function statementsAbout(text: string, work: () => Promise<unknown>): Promise<Statement[]> {
  return (await statementsOf(work)).filter(({ values }) => values.includes(text));
}
