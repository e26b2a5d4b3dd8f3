/** The position of a record in a list sorted newest first. */
export type Position = { createdAt: Date; id: string };

/** Converts rows to a page. One more row than requested was read, to detect a next page. */
export function toPage<Row extends Position>(rows: readonly Row[], first: number) {
  const nodes = rows.slice(0, first);
  const last = nodes.at(-1);
  return {
    nodes,
    pageInfo: { hasNextPage: rows.length > first, endCursor: last === undefined ? null : writeCursor(last) },
  };
}

/** Formats the clauses of a statement that reads a page, for the index on (user_id, created_at, id). */
export function formatPageClauses(after: string | null): string {
  const behind = after === null ? '' : 'and (created_at, id) < ($3, $4) ';
  return `where user_id = $1 ${behind}order by created_at desc, id desc limit $2`;
}

/** Lists the values of such a statement. */
export function listPageValues(userId: string, first: number, after: string | null): unknown[] {
  return [userId, first + 1, ...(after === null ? [] : readCursor(after))];
}

function writeCursor({ createdAt, id }: Position): string {
  return Buffer.from(`${createdAt.getTime()} ${id}`).toString('base64url');
}

function readCursor(cursor: string): [Date, string] {
  const [time = '', id = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  return [new Date(Number(time)), id];
}
