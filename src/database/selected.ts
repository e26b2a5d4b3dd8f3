import type { SelectExpression, SelectQueryBuilder } from 'kysely';

/** A row with the `Always` properties and, if selected, the others. */
export type Selected<Row, Always extends keyof Row> = Pick<Row, Always> & Partial<Omit<Row, Always>>;

/** Selects the properties in `always` and `chosen`. Those in `chosen` are optional in the type of the row. */
export function selectChosen<
  Tables,
  Table extends keyof Tables,
  Row,
  Always extends SelectExpression<Tables, Table>,
  Chosen extends SelectExpression<Tables, Table>,
>(query: SelectQueryBuilder<Tables, Table, Row>, always: readonly Always[], chosen: readonly Chosen[]) {
  return query.select(always).$if(true, (selected) => selected.select(chosen));
}
