import type { GraphQLResolveInfo } from 'graphql';
import type { OwnedRecord } from '../auth/access.ts';
import type { Context } from '../context.ts';
import type { Database } from '../database/database.ts';
import type { Listed, Page } from '../database/page.ts';
import { type ListName, readEntityTag } from '../revisions/revisions.ts';
import { type Connection, type ListedRecord, readConnection } from './connection.ts';
import { limitNestedPage } from './nested-list.ts';
import type { ListArguments } from './page-arguments.ts';
import { findSelectedProperties } from './selected-fields.ts';

/** The user whose list an operation selects. */
export type ListOwner = OwnedRecord & {
  readonly reader: 'viewer' | 'platform';
  /** Whether the user is one of a list, whose records are then read together. */
  readonly isListed: boolean;
};

type Selection = ReadonlySet<string> | undefined;

/** How to read the list of a user. What is read together is read by one statement for several users. */
export type UserList<Filter, Node> = {
  readonly name: ListName;
  read(
    database: Database,
    userId: string,
    filter: Filter,
    page: Page,
    selected: Selection,
  ): Promise<Listed<Node>[]>;
  readTogether(
    database: Database,
    item: { userId: string; query: { filter: Filter; page: Page } },
    selected: Selection,
  ): Promise<Listed<Node>[]>;
  count(database: Database, userId: string, filter: Filter): Promise<number>;
  countTogether(database: Database, item: { userId: string; query: Filter }): Promise<{ count: number }[]>;
  /** Whether an ID in a cursor can belong to this list. */
  isId(id: string): boolean;
};

/** Reads a page of a user's list: of the caller's as a root field, or of any user's as a field of the user. */
export function readUserList<Filter, Node extends ListedRecord>(
  list: UserList<Filter, Node>,
  { userId, isListed }: ListOwner,
  { filter, page: args }: { filter: Filter; page: ListArguments },
  { database }: Context,
  info: GraphQLResolveInfo,
): Promise<Connection<Node>> {
  const selected = findSelectedProperties(info);
  const readTag = () => readEntityTag(database, userId, list.name);
  if (!isListed) {
    return readConnection(args, {
      isId: list.isId,
      readTag,
      readRecords: (page) => list.read(database, userId, filter, page, selected),
      totalCount: () => list.count(database, userId, filter),
    });
  }
  return readConnection(limitNestedPage(args), {
    isId: list.isId,
    readTag,
    isBatched: true,
    readRecords: (page) => list.readTogether(database, { userId, query: { filter, page } }, selected),
    totalCount: async () => {
      const [counted] = await list.countTogether(database, { userId, query: filter });
      return counted?.count ?? 0;
    },
  });
}
