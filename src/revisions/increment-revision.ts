import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { ListName } from './revisions.ts';

/**
 * Increments the user's revision of a list by the number of rows in a common table expression, if it has any. Returns
 * `before`, the revision before the increment. The changed records get the revisions `before + 1`, `before + 2` and so
 * on.
 */
export function incrementRevision(
  db: Pick<Kysely<Tables>, 'updateTable'>,
  list: ListName,
  changed: string,
  userId: RawBuilder<string>,
) {
  const rows = sql.table(changed);
  const revision = sql.ref<number>(list);
  return db
    .updateTable('UserRevision')
    .set(list, sql<number>`${revision} + (select count(*) from ${rows})`)
    .where('userId', '=', userId)
    .where(sql<boolean>`exists (select from ${rows})`)
    .returning(sql<number>`${revision} - (select count(*) from ${rows})`.as('before'));
}
