import { defineListsOfUsersRead } from './batched-read.ts';
import type { Database } from './database.ts';
import {
  type CountsInput,
  type Listed,
  MAX_COUNT,
  type OneOrMore,
  type Page,
  type PageInput,
} from './page.ts';

/** The list of a user's records, and how it is read. */
export type UserList<Filter, Row> = {
  /** Reads a page, newest records first. */
  read(database: Database, userId: string, query: ListQuery<Filter>, selected?: Selection): Promise<Row[]>;
  /** Does the same. Concurrent calls for several users become one statement. */
  readTogether(
    database: Database,
    item: { userId: string; query: ListQuery<Filter> },
    selected?: Selection,
  ): Promise<Row[]>;
  count(database: Database, userId: string, filter: Filter): Promise<number>;
  /** Does the same, up to {@link MAX_COUNT}. Concurrent calls for several users become one statement. */
  countTogether(database: Database, item: { userId: string; query: Filter }): Promise<number>;
};

type Selection = ReadonlySet<string>;

/** What is read of a list. */
export type ListQuery<Filter> = { filter: Filter; page: Page };

/** The statements of a list. Each reads for several users. */
type Statements<Filter, Input, Row> = {
  toInput(filter: Filter, page: Page): Input;
  readPages(database: Database, input: Input & OneOrMore, selected?: Selection): Promise<Row[]>;
  readCounts(database: Database, input: Input & CountsInput): Promise<{ owner: string; count: number }[]>;
};

/** Defines the list of a user's records by the statements that read it. */
export function defineUserList<Filter, Input extends PageInput, Row extends Listed<{ owner: string }>>({
  toInput,
  readPages,
  readCounts,
}: Statements<Filter, Input, Row>): UserList<Filter, Row> {
  const countFor = (database: Database, users: readonly string[], filter: Filter, maxCount?: number) =>
    readCounts(database, { ...toInput(filter, {}), users, maxCount });
  const countEach = defineListsOfUsersRead((database, users, filter: Filter) =>
    countFor(database, users, filter, MAX_COUNT),
  );
  return {
    read: (database, userId, { filter, page }, selected) =>
      readPages(database, { ...toInput(filter, page), user: userId, users: undefined }, selected),
    readTogether: defineListsOfUsersRead((database, users, { filter, page }: ListQuery<Filter>, selected) =>
      readPages(database, { ...toInput(filter, page), user: undefined, users }, selected),
    ),
    async count(database, userId, filter) {
      const [counted] = await countFor(database, [userId], filter);
      return counted?.count ?? 0;
    },
    async countTogether(database, item) {
      const [counted] = await countEach(database, item);
      return counted?.count ?? 0;
    },
  };
}
