import { hash } from 'node:crypto';
import { type Compilable, type CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { QueryConfig, QueryResultRow } from 'pg';
import { changesOf, columnsOf, type EntityManager, pipelinesOf, query, type Tables } from './database.ts';

/** What a statement is built of instead of values. */
export type Inputs<Input> = {
  /** The place of an input's value. */
  slot<Name extends string & keyof Input>(name: Name): RawBuilder<NonNullable<Input[Name]>>;
  /** Whether an input is given; each choice of inputs makes a statement of its own. */
  has(name: string & keyof Input): boolean;
  /** The properties of an entity that are to be read: some always, and those that the caller tells. */
  read<Entity extends string & keyof Tables>(
    entity: Entity,
    ...always: (string & keyof Tables[Entity])[]
  ): (string & keyof Tables[Entity])[];
};

/**
 * Runs a statement with its inputs; those that are undefined are not given. Only some properties of the records are
 * read where it is told which.
 */
export type Prepared<Input, Row> = (
  em: EntityManager,
  input: Input,
  reads?: ReadonlySet<string>,
) => Promise<Row[]>;

/** Callers choose which properties are read, and every choice is a statement: the least recently used ones are evicted. */
const MAX_STATEMENTS = 200;

type Statement<Row> = { name: string; compiled: CompiledQuery<Row>; does: Work };

/**
 * A statement that is built once, not at every call, and that PostgreSQL parses once on each connection: for what many
 * requests run, outside of transactions.
 */
export function prepared<Input extends object, Row extends QueryResultRow>(
  build: (db: Kysely<Tables>, inputs: Inputs<Input>) => Compilable<Row>,
): Prepared<Input, Row> {
  const statements = new LRUCache<string, Statement<Row>>({ max: MAX_STATEMENTS });

  function statementFor(
    em: EntityManager,
    given: ReadonlyMap<string, unknown>,
    reads: ReadonlySet<string> | undefined,
  ): Statement<Row> {
    const key = [...given.keys(), 'reads', ...(reads ?? ['all'])].join(' ');
    const known = statements.get(key);
    if (known !== undefined) return known;
    const compiled = build(query(em), {
      slot: (name) => sql`${new Slot(name)}`,
      has: (name) => given.has(name),
      read: <Entity extends keyof Tables>(entity: Entity, ...always: (string & keyof Tables[Entity])[]) => {
        const asked = reads && new Set([...always, ...reads]);
        const isRead = (name: string): name is string & keyof Tables[Entity] => asked?.has(name) ?? true;
        const { props } = em.getMetadata().getByClassName(entity);
        return props.map(({ name }) => name).filter(isRead);
      },
    }).compile();
    const name = hash('sha256', compiled.sql, 'base64url');
    const statement = { name, compiled, does: workOf(compiled, given) };
    statements.set(key, statement);
    return statement;
  }

  return async (em, input, reads) => {
    if (em.isInTransaction()) throw new Error('A prepared statement would run outside of the transaction.');
    const given = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
    const { name, compiled, does } = statementFor(em, given, reads);
    const values = compiled.parameters.map((value) =>
      value instanceof Slot ? given.get(value.name) : value,
    );
    const rows = await run<Row>(em, { name, text: compiled.sql, values }, does);
    columnsOf(em).hideSecrets(rows);
    return rows;
  };
}

/** What a statement does: a short read has a limit and skips nothing, so that it reads few records by an index. */
type Work = 'short read' | 'long read' | 'change';

function workOf({ query }: CompiledQuery, given: ReadonlyMap<string, unknown>): Work {
  if (query.kind !== 'SelectQueryNode') return 'change';
  const hasLimit = query.limit !== undefined || given.has('limit');
  return hasLimit && !given.has('offset') ? 'short read' : 'long read';
}

async function run<Row extends QueryResultRow>(em: EntityManager, statement: QueryConfig, does: Work) {
  const { short, long } = pipelinesOf(em);
  switch (does) {
    case 'short read':
      return short.query<Row>(statement);
    case 'long read':
      return long.query<Row>(statement);
    case 'change': {
      const { rows } = await changesOf(em).query<Row>(statement);
      return rows;
    }
  }
}

/** A parameter whose value is not known yet. */
class Slot {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}
