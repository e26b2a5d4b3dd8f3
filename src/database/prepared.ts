import type { Compilable, CompiledQuery, Kysely } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { QueryResultRow } from 'pg';
import { type EntityManager, getColumns, getPipelines, query, type Tables } from './database.ts';
import { bind, type Slots, slot, type Template, toTemplate } from './statement.ts';

/** What a statement is built of instead of values. */
export type Inputs<Input> = Slots<Input> & {
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

type Read = Template & { isShort: boolean };

/**
 * A statement that only reads, outside of transactions. It is built once, not at every call, and PostgreSQL parses it
 * once on each connection.
 */
export function prepared<Input extends object, Row extends QueryResultRow>(
  build: (db: Kysely<Tables>, inputs: Inputs<Input>) => Compilable<Row>,
): Prepared<Input, Row> {
  const statements = new LRUCache<string, Read>({ max: MAX_STATEMENTS });

  function statementFor(
    em: EntityManager,
    given: ReadonlyMap<string, unknown>,
    reads: ReadonlySet<string> | undefined,
  ): Read {
    const key = [...given.keys(), 'reads', ...(reads ?? ['all'])].join(' ');
    const known = statements.get(key);
    if (known !== undefined) return known;
    const compiled = build(query(em), {
      slot: (name, type) => slot(name, type),
      has: (name) => given.has(name),
      read: <Entity extends keyof Tables>(entity: Entity, ...always: (string & keyof Tables[Entity])[]) => {
        const asked = reads && new Set([...always, ...reads]);
        const isRead = (name: string): name is string & keyof Tables[Entity] => asked?.has(name) ?? true;
        const { props } = em.getMetadata().getByClassName(entity);
        return props.map(({ name }) => name).filter(isRead);
      },
    }).compile();
    const statement = { ...toTemplate(compiled), isShort: isShort(compiled, given) };
    statements.set(key, statement);
    return statement;
  }

  return async (em, input, reads) => {
    if (em.isInTransaction()) throw new Error('A prepared statement would run outside of the transaction.');
    const given = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
    const statement = statementFor(em, given, reads);
    const { short, long } = getPipelines(em);
    const rows = await (statement.isShort ? short : long).query<Row>(bind(statement, input));
    getColumns(em).hideSecrets(rows);
    return rows;
  };
}

/** A short read has a limit and skips nothing, so that it reads few records by an index. */
function isShort({ query }: CompiledQuery, given: ReadonlyMap<string, unknown>): boolean {
  const hasLimit = (query.kind === 'SelectQueryNode' && query.limit !== undefined) || given.has('limit');
  return hasLimit && !given.has('offset');
}
