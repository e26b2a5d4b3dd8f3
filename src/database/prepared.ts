import { hash } from 'node:crypto';
import { type Compilable, type CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely';
import type { QueryResultRow } from 'pg';
import { columnsOf, type EntityManager, query, type Tables } from './database.ts';

/** What a statement is built of instead of values. */
export type Inputs<Input> = {
  /** The place of an input's value. */
  slot<Name extends string & keyof Input>(name: Name): RawBuilder<NonNullable<Input[Name]>>;
  /** Any of the values of an input that is a list: one array, so that the length makes no other statement. */
  any<Name extends string & keyof Input>(name: Name): RawBuilder<ElementOf<NonNullable<Input[Name]>>>;
  /** Whether an input is given; each choice of inputs makes a statement of its own. */
  has(name: string & keyof Input): boolean;
};

type ElementOf<List> = List extends readonly (infer Element)[] ? Element : never;

/** Runs a statement with its inputs; those that are undefined are not given. */
export type Prepared<Input, Row> = (em: EntityManager, input: Input) => Promise<Row[]>;

type Statement<Row> = { name: string; compiled: CompiledQuery<Row> };

/**
 * A statement that is built once, not at every call, and that PostgreSQL parses once on each connection: for what many
 * requests run, outside of transactions.
 */
export function prepared<Input extends object, Row extends QueryResultRow>(
  build: (db: Kysely<Tables>, inputs: Inputs<Input>) => Compilable<Row>,
): Prepared<Input, Row> {
  const statements = new Map<string, Statement<Row>>();

  function statementFor(em: EntityManager, given: ReadonlyMap<string, unknown>): Statement<Row> {
    const key = [...given.keys()].join(' ');
    const known = statements.get(key);
    if (known !== undefined) return known;
    const compiled = build(query(em), {
      slot: (name) => sql`${new Slot(name)}`,
      any: (name) => sql`any(${new Slot(name)})`,
      has: (name) => given.has(name),
    }).compile();
    const statement = { name: hash('sha256', compiled.sql, 'base64url'), compiled };
    statements.set(key, statement);
    return statement;
  }

  return async (em, input) => {
    if (em.isInTransaction()) throw new Error('A prepared statement would run outside of the transaction.');
    const given = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
    const { name, compiled } = statementFor(em, given);
    const values = compiled.parameters.map((value) =>
      value instanceof Slot ? given.get(value.name) : value,
    );
    const pool = await em.getConnection().getNativeClient();
    const { rows } = await pool.query<Row>({ name, text: compiled.sql, values });
    columnsOf(em).hideSecrets(rows);
    return rows;
  };
}

/** A parameter whose value is not known yet. */
class Slot {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}
