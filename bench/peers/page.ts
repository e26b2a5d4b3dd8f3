/** Where a record stands in a list that is newest first. */
export type Position = { createdAt: Date; id: string };

/** A page and where it lies, of rows of which one more was read than was asked for. */
export function pageOf<Row extends Position>(rows: readonly Row[], first: number) {
  const nodes = rows.slice(0, first);
  const last = nodes.at(-1);
  return {
    nodes,
    pageInfo: { hasNextPage: rows.length > first, endCursor: last === undefined ? null : writeCursor(last) },
  };
}

/** The end of a statement that reads a page, for the index on (user_id, created_at, id). */
export function pageClause(after: string | null): string {
  const behind = after === null ? '' : 'and (created_at, id) < ($3, $4) ';
  return `where user_id = $1 ${behind}order by created_at desc, id desc limit $2`;
}

/** The values of such a statement. */
export function pageValues(userId: string, first: number, after: string | null): unknown[] {
  return [userId, first + 1, ...(after === null ? [] : readCursor(after))];
}

function writeCursor({ createdAt, id }: Position): string {
  return Buffer.from(`${createdAt.getTime()} ${id}`).toString('base64url');
}

function readCursor(cursor: string): [Date, string] {
  const [time = '', id = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  return [new Date(Number(time)), id];
}
