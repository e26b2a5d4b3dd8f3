import pg from 'pg';
import { vi } from 'vitest';
import { z } from 'zod';
import { type GraphQLReply, graphql } from './client.ts';
import { member } from './tokens.ts';

/** A statement as it went to PostgreSQL. */
export type Statement = { text: string; values: readonly unknown[] };

/** As it is given to pg, without or with a name. */
const Query = z.object({ text: z.string(), values: z.array(z.unknown()).catch([]) });

/** Runs `work` and answers the statements that this process sent meanwhile; they are run as ever. */
export async function statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await work();
    return sent.mock.calls.flatMap((call: unknown[]) => {
      const [first, second] = call;
      const { success, data } = Query.safeParse(
        typeof first === 'string' ? { text: first, values: second } : first,
      );
      return success ? [data] : [];
    });
  } finally {
    sent.mockRestore();
  }
}

/** The statements of `work` that have this text among their values; what a gateway does beside is not counted. */
export async function statementsAbout(text: string, work: () => Promise<unknown>): Promise<Statement[]> {
  return (await statementsOf(work)).filter(({ values }) => values.includes(text));
}

/** A reply, the statements that it took, and milliseconds. */
export type Costed = { reply: GraphQLReply; statements: number; ms: number };

/** Sends a document of a user, and counts the statements about them. */
export async function sendCounting(
  gateway: { address: string },
  userId: string,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<Costed> {
  const token = await member(userId);
  const started = performance.now();
  let reply: GraphQLReply | undefined;
  const statements = await statementsAbout(userId, async () => {
    reply = await graphql(gateway, query, variables, { token });
  });
  if (reply === undefined) throw new Error('There was no reply.');
  return { reply, statements: statements.length, ms: performance.now() - started };
}
