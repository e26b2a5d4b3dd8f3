import type { EntityManager } from '@mikro-orm/postgresql';
import { getKysely } from '../database/database.ts';
import { MAX_COUNT } from '../database/page.ts';
import { UserRevision } from '../revisions/revisions.entity.ts';

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
  em: EntityManager,
  { prefix, after, limit }: UserPage,
): Promise<ListedUser[]> {
  const end = findPrefixEnd(prefix);
  const userId = {
    $gte: prefix,
    ...(end !== undefined && { $lt: end }),
    ...(after !== undefined && { $gt: after }),
  };
  const options = { fields: ['userId'], orderBy: { userId: 'asc' }, limit } as const;
  const users = await em.find(UserRevision, { userId }, options);
  return users.map(({ userId: id }) => ({ id }));
}

/** Counts the users whose ID starts with a prefix, up to {@link MAX_COUNT}. */
export async function countUsers(em: EntityManager, prefix: string): Promise<number> {
  const end = findPrefixEnd(prefix);
  const { count } = await getKysely(em)
    .selectFrom((eb) =>
      eb
        .selectFrom('UserRevision')
        .select('userId')
        .where('userId', '>=', prefix)
        .$if(end !== undefined, (users) => users.where('userId', '<', end ?? ''))
        .orderBy('userId')
        .limit(MAX_COUNT)
        .as('users'),
    )
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

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
