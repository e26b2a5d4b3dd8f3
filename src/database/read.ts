import type { Compilable, Kysely, SelectExpression, SelectQueryBuilder } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { QueryResultRow } from 'pg';
import type { Database, Tables } from './database.ts';
import { bind, type Params, param, type Template, toTemplate } from './statement.ts';

/** The inputs of a read while it is built. */
export type ReadParams<Input> = Params<Input> & {
  /** Whether an input is given. Each combination of given inputs is a separate statement. */
  has(name: string & keyof Input): boolean;
  /**
   * Returns the properties to read besides `always`: the selected ones, or all properties of the entity if the read is
   * called without `selected`. Pass `always` and the result to `selectProperties`.
   */
  selected<Entity extends string & keyof Tables, Always extends string & keyof Tables[Entity]>(
    entity: Entity,
    always: readonly Always[],
  ): Exclude<string & keyof Tables[Entity], Always>[];
};

/** A row with the `Always` properties and, if selected, the others. */
export type Selected<Row, Always extends keyof Row> = Pick<Row, Always> & Partial<Omit<Row, Always>>;

/** Selects the properties in `always` and `selected`. Those in `selected` are optional in the type of the row. */
export function selectProperties<
  Tables,
  Table extends keyof Tables,
  Row,
  Always extends SelectExpression<Tables, Table>,
  Chosen extends SelectExpression<Tables, Table>,
>(query: SelectQueryBuilder<Tables, Table, Row>, always: readonly Always[], selected: readonly Chosen[]) {
  return query.select(always).$if(true, (rows) => rows.select(selected));
}

/** Returns the properties of an entity besides `always`: the selected ones, or all. */
export function chooseProperties<
  Entity extends string & keyof Tables,
  Always extends string & keyof Tables[Entity],
>(
  { names }: Database,
  entity: Entity,
  always: readonly Always[],
  selected: ReadonlySet<string> | undefined,
): Exclude<string & keyof Tables[Entity], Always>[] {
  const fixed = new Set<string>(always);
  const isChosen = (name: string): name is Exclude<string & keyof Tables[Entity], Always> =>
    !fixed.has(name) && (selected?.has(name) ?? true);
  return names.propertiesOf(entity).filter(isChosen);
}

type Build<Input, Row> = (db: Kysely<Tables>, params: ReadParams<Input>) => Compilable<Row>;

/** Defines a read of a bounded number of rows by an index. Runs on the connections for short reads. */
export function defineListRead<Input extends object, Row extends QueryResultRow>(build: Build<Input, Row>) {
  const read = prepare(build);
  return (database: Database, input: Input, selected?: ReadonlySet<string>): Promise<Row[]> =>
    read(database, 'short', input, selected);
}

/** The longest page that counts as short: one of GraphQL, and the record that shows whether another follows. */
const MAX_SHORT_PAGE = 101;

/**
 * Defines a read of a page of a list. It runs on the connections for short reads, unless it may take long, because it
 * has or skips many records or is a part of a long list, or if `isLong` returns true.
 */
export function definePageRead<Input extends PageOptions, Row extends QueryResultRow>(
  build: Build<Input, Row>,
  isLong: (input: Input, selected?: ReadonlySet<string>) => boolean = () => false,
) {
  const read = prepare(build);
  return (database: Database, input: Input, selected?: ReadonlySet<string>): Promise<Row[]> => {
    const { isPart, offset, limit = 0 } = input;
    const takesLong = isPart || offset !== undefined || limit > MAX_SHORT_PAGE || isLong(input, selected);
    return read(database, takesLong ? 'long' : 'short', input, selected);
  };
}

type PageOptions = object & {
  isPart?: boolean | undefined;
  offset?: number | undefined;
  limit?: number | undefined;
};

/** Defines counts by group. Runs on the connections for long reads, because it reads every row that it counts. */
export function defineCounts<Input extends object, Row extends QueryResultRow & { count: number }>(
  build: Build<Input, Row>,
) {
  const read = prepare(build);
  return (database: Database, input: Input): Promise<Row[]> => read(database, 'long', input);
}

/** The maximum number of cached statements per read. Each combination of inputs and properties is a statement. */
const MAX_STATEMENTS = 200;

/** Builds one statement per combination of given inputs and selected properties. An `undefined` input is not given. */
function prepare<Input extends object, Row extends QueryResultRow>(build: Build<Input, Row>) {
  const statements = new LRUCache<string, Template>({ max: MAX_STATEMENTS });

  function statementFor(
    database: Database,
    given: ReadonlyMap<string, unknown>,
    selected: ReadonlySet<string> | undefined,
  ): Template {
    const key = [...given.keys(), 'selected', ...(selected ?? ['all'])].join(' ');
    const known = statements.get(key);
    if (known !== undefined) return known;
    const compiled = build(database.query, {
      param,
      has: (name) => given.has(name),
      selected: (entity, always) => chooseProperties(database, entity, always, selected),
    }).compile();
    const statement = toTemplate(compiled);
    statements.set(key, statement);
    return statement;
  }

  return async (
    database: Database,
    connection: 'short' | 'long',
    input: Input,
    selected?: ReadonlySet<string>,
  ): Promise<Row[]> => {
    const given = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
    const statement = statementFor(database, given, selected);
    const rows = await database[connection].query<Row>(bind(statement, input));
    database.names.hideSecrets(rows);
    return rows;
  };
}
