import { hash } from 'node:crypto';
import { type Compilable, type CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely';
import type { QueryConfig, QueryResultRow } from 'pg';
import { Secret } from '../values/secret.ts';
import type { Database, Tables } from './database.ts';

/** Creates placeholders for the inputs of a statement. */
export type Params<Input> = {
  /** The placeholder of an input, cast to a PostgreSQL type if the statement does not imply one. */
  param<Name extends string & keyof Input>(name: Name, type?: string): RawBuilder<NonNullable<Input[Name]>>;
};

/** A statement with its values and the conversion of its rows. */
export type Bound<Row> = { config: QueryConfig; convertRows(rows: Row[]): Row[] };

/** A statement of a change. A call returns the statement with the values of its inputs. */
export type Statement<Input, Row> = (database: Database, input: Input) => Bound<Row>;

/** Defines a statement, which is built on first use. */
export function defineStatement<Input extends object, Row extends QueryResultRow>(
  build: (db: Kysely<Tables>, params: Params<Input>) => Compilable<Row>,
): Statement<Input, Row> {
  let template: Template | undefined;
  return (database, input) => {
    template ??= toTemplate(build(database.query, { param }).compile());
    const convertRows = (rows: Row[]) => {
      database.names.hideSecrets(rows);
      return rows;
    };
    return { config: bind(template, input), convertRows };
  };
}

/**
 * Defines a statement with optional parts: each combination is a statement of its own, built on first use.
 * @param build builds the statement of the given parts
 */
export function defineVariants<Part extends string, Input extends object, Row extends QueryResultRow>(
  build: (db: Kysely<Tables>, params: Params<Input>, parts: readonly Part[]) => Compilable<Row>,
): (parts: readonly Part[]) => Statement<Input, Row> {
  const variants = new Map<string, Statement<Input, Row>>();
  return (parts) => {
    const key = parts.join();
    const variant =
      variants.get(key) ?? defineStatement((db, params: Params<Input>) => build(db, params, parts));
    variants.set(key, variant);
    return variant;
  };
}

/** Runs a statement on its own, on the connections for changes. */
export async function runStatement<Input, Row extends QueryResultRow>(
  database: Database,
  statement: Statement<Input, Row>,
  input: Input,
): Promise<Row[]> {
  const { config, convertRows } = statement(database, input);
  const { rows } = await database.changes.query<Row>(config);
  return convertRows(rows);
}

/** Runs a statement that reads a bounded number of rows by an index, on the connections for short reads. */
export async function readRows<Input, Row extends QueryResultRow>(
  database: Database,
  statement: Statement<Input, Row>,
  input: Input,
): Promise<Row[]> {
  const { config, convertRows } = statement(database, input);
  return convertRows(await database.short.query<Row>(config));
}

/** Formats rows as JSON with the table's columns as keys, for `json_populate_recordset`. */
export function toJsonRows({ names }: Database, rows: readonly object[]): string {
  const reveal = (value: unknown) => (value instanceof Secret ? value.reveal() : value);
  return JSON.stringify(
    rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [names.columnOf(name), reveal(value)])),
    ),
  );
}

/** A compiled statement. Its name is a hash of its text, so PostgreSQL prepares it once per connection. */
export type Template = {
  readonly name: string;
  readonly text: string;
  readonly parameters: readonly unknown[];
};

/** Names a compiled statement by its text, so that equal statements are prepared once per connection. */
export function toTemplate({ sql: text, parameters }: CompiledQuery): Template {
  return { name: hash('sha256', text, 'base64url'), text, parameters };
}

/** Replaces the placeholders of a statement with the values of an input. */
export function bind({ name, text, parameters }: Template, input: object): QueryConfig {
  const values = parameters.map((value): unknown =>
    value instanceof Param ? Reflect.get(input, value.name) : value,
  );
  return { name, text, values };
}

/** Creates the placeholder of an input. */
export function param<Value>(name: string, type?: string): RawBuilder<Value> {
  const placeholder = sql<Value>`${new Param(name)}`;
  return type === undefined ? placeholder : sql<Value>`${placeholder}::${sql.raw(type)}`;
}

/** Returns the values of inputs in place of placeholders, for a statement that is not prepared. */
export const valuesOf = <Input extends object>(
  input: Input,
): Params<Input> & { has(name: string): boolean } => ({
  param: (name, type) => {
    const value = sql<never>`${input[name]}`;
    return type === undefined ? value : sql`${value}::${sql.raw(type)}`;
  },
  has: (name) => Reflect.get(input, name) !== undefined,
});

/** A parameter that is bound at every call. */
class Param {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}
