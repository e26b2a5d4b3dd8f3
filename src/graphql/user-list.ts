import type { GraphQLResolveInfo } from 'graphql';
import type { OwnedRecord } from '../auth/access.ts';
import type { Context, RootValue } from '../context.ts';
import type { Database } from '../database/database.ts';
import type { Listed, Page } from '../database/page.ts';
import { type ListName, readEntityTag } from '../revisions/revisions.ts';
import { admitLargeRead } from './admit-large-reply.ts';
import { findByteShare } from './byte-share.ts';
import { type Connection, type ListedRecord, type ListReader, readConnection } from './connection.ts';
import { countNested, limitNestedPage } from './nested-list.ts';
import type { PageArguments } from './page-arguments.ts';
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
  readTexts(
    database: Database,
    item: { userId: string; ids: string[] },
    selected: Selection,
  ): Promise<(Partial<Node> & { id: string })[]>;
  count(database: Database, userId: string, filter: Filter): Promise<number>;
  countTogether(database: Database, item: { userId: string; query: Filter }): Promise<{ count: number }[]>;
  /** Whether an ID in a cursor can belong to this list. */
  isId(id: string): boolean;
};

/** Reads a page of a user's list: of the caller's as a root field, or of any user's as a field of the user. */
export function readUserList<Filter, Node extends ListedRecord>(
  list: UserList<Filter, Node>,
  { userId, reader, isListed }: ListOwner,
  { filter, page: args }: { filter: Filter; page: PageArguments },
  { root, context, info }: { root: RootValue; context: Context; info: GraphQLResolveInfo },
): Promise<Connection<Node>> {
  const { database } = context;
  const selected = findSelectedProperties(info);
  const share = findByteShare(info);
  const common: Pick<ListReader<Node>, 'readTexts' | 'admitLargeRead' | 'readTag' | 'isId'> = {
    readTexts: (ids) => list.readTexts(database, { userId, ids }, selected),
    admitLargeRead: (bytes) => admitLargeRead(context, bytes, reader),
    readTag: () => readEntityTag(database, userId, list.name),
    isId: list.isId,
  };
  if (!isListed) {
    return readConnection(args, root, {
      ...common,
      share,
      readRecords: (page) => list.read(database, userId, filter, page, selected),
      totalCount: () => list.count(database, userId, filter),
    });
  }
  return readConnection(limitNestedPage(args), root, {
    ...common,
    share: { ...share, isNested: true },
    readRecords: (page) => list.readTogether(database, { userId, query: { filter, page } }, selected),
    onReturn: (count) => countNested(context, count),
    totalCount: async () => {
      const [counted] = await list.countTogether(database, { userId, query: filter });
      return counted?.count ?? 0;
    },
  });
}
