import type { GraphQLResolveInfo } from 'graphql';
import type { OwnedRecord } from '../auth/access.ts';
import type { Context } from '../context.ts';
import { type Listed, MAX_COUNT } from '../database/page.ts';
import type { UserList } from '../database/user-list.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import { type ListName, readEntityTag } from '../revisions/revisions.ts';
import { type Connection, type ListedRecord, readConnection } from './connection.ts';
import type { ListArguments } from './page-arguments.ts';
import { findSelectedProperties } from './selected-fields.ts';

/** The user whose list an operation selects. */
export type ListOwner = OwnedRecord & {
  readonly reader: 'viewer' | 'platform';
  /** Whether the user is one of a list, whose records are then read together. */
  readonly isListed: boolean;
};

/** Returns the caller as the user whose records are selected. */
export function viewerNode({ viewer: { userId } }: Context): ListOwner {
  return { userId, reader: 'viewer', isListed: false };
}

/** A list of a user in the schema. */
export type ListField<Filter, Node> = {
  /** The name of its entity tag. */
  readonly name: ListName;
  readonly list: UserList<Filter, Listed<Node>>;
  /** Whether an ID in a cursor can belong to this list. */
  isId(id: string): boolean;
};

/** Reads a page of a user's list: of the caller's as a root field, or of any user's as a field of the user. */
export function readUserList<Filter, Node extends ListedRecord>(
  { name, list, isId }: ListField<Filter, Node>,
  { userId, isListed }: ListOwner,
  { filter, page: args }: { filter: Filter; page: ListArguments },
  { database }: Context,
  info: GraphQLResolveInfo,
): Promise<Connection<Node>> {
  const selected = findSelectedProperties(info);
  const readTag = () => readEntityTag(database, userId, name);
  if (!isListed) {
    return readConnection(args, {
      isId,
      readTag,
      readRecords: (page) => list.read(database, userId, { filter, page }, selected),
      totalCount: () => list.count(database, userId, filter),
    });
  }
  return readConnection(limitNestedPage(args), {
    isId,
    readTag,
    isBatched: true,
    readRecords: (page) => list.readTogether(database, { userId, query: { filter, page } }, selected),
    totalCount: () => list.countTogether(database, { userId, query: filter }),
  });
}

/** The maximum size of a page of a list inside another list, and its default size. */
const MAX_NESTED_PAGE_SIZE = 20;

/** The description of lists that may be inside others. */
export const nestedPageNote = `In a list of users, \`first\` and \`last\` are at most ${MAX_NESTED_PAGE_SIZE}, which is the default, and \`totalCount\` is at most ${MAX_COUNT}.`;

/**
 * Returns the arguments of a page of a list inside another list, with the default page size.
 * @throws {ValidationError} if the page is too large
 */
function limitNestedPage(args: ListArguments): ListArguments {
  for (const name of ['first', 'last'] as const) {
    const value = args[name];
    if (value != null && value > MAX_NESTED_PAGE_SIZE) {
      const message = `must be at most ${MAX_NESTED_PAGE_SIZE} in a list inside another list`;
      throw new ValidationError([{ path: [name], message, value }]);
    }
  }
  return args.last == null ? { ...args, first: args.first ?? MAX_NESTED_PAGE_SIZE } : args;
}
