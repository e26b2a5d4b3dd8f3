import type { Database } from '../database/database.ts';
import { defineListRead, type ReadParams } from '../database/read.ts';

/** A user in the list. */
export type ListedUser = { id: string };

/** A page of users, in the order of their IDs by code point. */
export type UserPage = {
  /** Only users whose ID starts with this string. */
  prefix: string;
  /** Only users whose ID follows this one. */
  after: string | undefined;
  limit: number;
};

/** Lists the users who have revisions, by ID. */
export async function listUsers(
  database: Database,
  { prefix, after, limit }: UserPage,
): Promise<ListedUser[]> {
  return list(database, { prefix, end: findPrefixEnd(prefix), after, limit });
}

type ListInput = UserPage & { end: string | undefined };

// A range, because a prepared statement cannot use the index for a `like` pattern in a parameter.
const list = defineListRead((db, { param, has }: ReadParams<ListInput>) =>
  db
    .selectFrom('UserRevision')
    .select('userId as id')
    .where('userId', '>=', param('prefix'))
    .$if(has('end'), (users) => users.where('userId', '<', param('end')))
    .$if(has('after'), (users) => users.where('userId', '>', param('after')))
    .orderBy('userId')
    .limit(param('limit')),
);

const LAST_CHARACTER = '\u{10ffff}';
const SURROGATES = { first: 0xd800, next: 0xe000 };

/** Returns the first string after all strings with a prefix, by code point; `undefined` if there is none. */
function findPrefixEnd(prefix: string): string | undefined {
  const characters = [...prefix];
  const index = characters.findLastIndex((character) => character !== LAST_CHARACTER);
  const following = (characters[index]?.codePointAt(0) ?? Number.NaN) + 1;
  if (Number.isNaN(following)) return undefined;
  const next = following === SURROGATES.first ? SURROGATES.next : following;
  return characters.slice(0, index).join('') + String.fromCodePoint(next);
}
