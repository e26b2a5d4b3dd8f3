import { hash } from 'node:crypto';
import type { Context } from '../context.ts';
import { findRevisions } from '../revisions/revisions.ts';
import { reads } from './selected-fields.ts';

const description =
  'A key for caches: an opaque string, unique over all types and users. It is never an argument.';

/**
 * Defines the field `ref` of a type whose records a user has at most one of for each value of `properties`, such as the
 * user's contact.
 */
export function defineSingletonRef<Row extends { userId: string }>(
  type: string,
  ...properties: (string & keyof Row)[]
) {
  return {
    type: 'ID',
    description,
    extensions: reads<Row>('userId', ...properties),
    resolve: (record: Row) => formatRef([type, record.userId, ...properties.map((name) => record[name])]),
  } as const;
}

/**
 * Defines the field `ref` of a type whose records have IDs that are unique among the user's. After the user was deleted,
 * a record with the same ID has another `ref`.
 */
export function defineRecordRef<Row extends { userId: string }>(
  type: string,
  ...properties: (string & keyof Row)[]
) {
  return {
    type: 'ID',
    description: `${description} It changes if the user is deleted and a record with the same ID is created again.`,
    extensions: reads<Row>('userId', ...properties),
    resolve: async (record: Row, _args: object, context: Context) =>
      formatRef([
        type,
        record.userId,
        await readEpoch(context, record.userId),
        ...properties.map((name) => record[name]),
      ]),
  } as const;
}

/** Reads the epoch of a user. Concurrent calls become one statement. */
async function readEpoch({ database }: Context, userId: string): Promise<string> {
  return (await findRevisions(database, userId))?.epoch ?? '';
}

function formatRef(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, REF_LENGTH);
}

/** 132 bits, so that no two records have the same in practice. */
const REF_LENGTH = 22;
