import { readRequiredVersion } from './schema-compatibility.ts';

/** A rule for migrations of tables in use: statements to avoid, the reason, and what to do instead. */
export type MigrationRule = { statements: string; reason: string; instead: string };

/** A statement, or one change of an `alter table`, in lower case, without comments and literals. */
type Part = { table: string | undefined; text: string };

/**
 * `migration` has the parts of all statements of the migration. A rule with `isForRemovals` does not apply to a migration
 * whose name has the version that it requires.
 */
type Check = MigrationRule & {
  isForRemovals?: true;
  isViolated(part: Part, migration: readonly Part[]): boolean;
};

/** `alter table … add` with a column. */
const ADD_COLUMN = String.raw`^alter table add (column )?(if not exists )?(?!(constraint|check|foreign|unique|primary|exclude)\b)\S+ `;

const matches = (pattern: RegExp) => (part: Part) => pattern.test(part.text);
const addsColumn = (rest: string) => matches(new RegExp(ADD_COLUMN + rest));

const checks: readonly Check[] = [
  {
    statements: '`create index`, `drop index`',
    reason:
      'Changes wait until the index is built. With `concurrently`, an interrupted build is never completed.',
    instead: '`IndexMigration`',
    isViolated: matches(/^(create (unique )?|drop )index\b/),
  },
  {
    statements: '`add check`, `add foreign key`',
    reason: 'Reads and changes wait until every row is checked.',
    instead: '`not valid`, then `validate constraint` in another migration',
    isViolated: matches(/^alter table add (constraint \S+ )?(check|foreign key)\b(?!.* not valid$)/),
  },
  {
    statements: '`validate constraint` beside other changes',
    reason: 'Reads and changes wait until every row is checked, because the other changes lock the table.',
    instead: '`validate constraint` in a migration of its own',
    isViolated: ({ table, text }, migration) =>
      text.startsWith('alter table validate') &&
      migration.some((other) => other.table === table && !other.text.startsWith('alter table validate')),
  },
  {
    statements: '`add unique`, `add primary key`, `add exclude`',
    reason: 'Reads and changes wait until the index is built.',
    instead: 'A unique index by `IndexMigration`, then `add constraint … unique using index`',
    isViolated: matches(/^alter table add (constraint \S+ )?(unique|primary key|exclude)\b(?! using index)/),
  },
  {
    statements: '`add column` with a constraint',
    reason: 'Reads and changes wait until every row is checked.',
    instead: 'The column, then the constraint as above',
    isViolated: addsColumn(String.raw`.*\b(check|references|unique|primary key)\b`),
  },
  {
    statements: '`add column … not null` without `default`',
    reason: 'Fails if the table has rows. Inserts of the previous version fail.',
    instead: 'A nullable column, or a constant default',
    isViolated: addsColumn(String.raw`(?!.*\b(default|generated)\b).*\bnot null\b`),
  },
  {
    statements: '`add column` with a function as default, `serial` or `generated`',
    reason: 'Reads and changes wait until every row is written. Only constants and `now()` are stored once.',
    instead: 'A nullable column, then `set default`, then batches of `update`',
    isViolated: addsColumn(String.raw`.*(\bdefault \(*(?!now\(|current_)\w+ ?\(|serial\b|\bgenerated\b)`),
  },
  {
    statements: '`set not null`',
    reason: 'Reads and changes wait until every row is checked.',
    instead:
      'A validated `check (… is not null)` named `<table>_<column>_not_null`, then `set not null` and `drop constraint`',
    isViolated: ({ table, text }, migration) => {
      const [, column] = /^alter table alter (?:column )?"?(\w+)"? set not null/.exec(text) ?? [];
      const drop = new RegExp(`^alter table drop constraint "?${table}_${column}_not_null"?$`);
      return (
        column !== undefined && !migration.some((other) => other.table === table && drop.test(other.text))
      );
    },
  },
  {
    statements: '`alter column … type`',
    reason: 'Reads and changes wait until every row is written.',
    instead: 'A new column, filled by batches of `update`',
    isViolated: matches(/^alter table alter (column )?\S+ (set data )?type\b/),
  },
  {
    statements: '`rename`',
    reason: 'Statements of the previous version fail.',
    instead: 'The old name, as `fieldName` or `tableName` of the entity',
    isViolated: matches(/^alter table rename\b/),
  },
  {
    statements: '`drop` of anything but an index',
    reason: 'Statements of the previous version fail.',
    instead: 'A later release that no longer uses it, then a migration whose name requires that release',
    isForRemovals: true,
    isViolated: ({ table, text }, migration) => {
      const [, name] = /^alter table drop constraint (?:if exists )?"?(\w+)"?/.exec(text) ?? [];
      if (name === undefined) {
        return /^drop (?!index\b|owned\b)|^alter table (drop|alter (column )?\S+ drop default)\b/.test(text);
      }
      const add = new RegExp(`^alter table add constraint "?${name}"? `);
      const isAdded = migration.some((other) => other.table === table && add.test(other.text));
      // Changes that a check has allowed do not fail without it.
      return !isAdded && !/_(check|not_null)$/.test(name);
    },
  },
  {
    statements: '`update`, `delete`, `merge`',
    reason: 'Changes of the same rows wait until the migration is committed.',
    instead: 'Batches with `limit`, in a migration whose `isTransactional` returns `false`',
    isViolated: matches(/^(with\b.*\W)?(update|delete from|merge into) (?!.*\blimit\b)/),
  },
  {
    statements: '`truncate`, `lock table`, `cluster`, `vacuum full`, `reindex`',
    reason: 'Reads and changes wait until the statement has ended or the migration is committed.',
    instead: 'Batches of `delete`, or `vacuum` and `reindex … concurrently` by an operator',
    isViolated: matches(/^(truncate|lock|cluster|vacuum \(?.*\bfull|reindex)\b/),
  },
];

/** The rules for migrations, as docs/adding-an-operation.md lists them. */
export const migrationRules: readonly MigrationRule[] = checks;

/** A statement that violates a rule. */
export type UnsafeStatement = { statement: string; rule: MigrationRule };

/**
 * Finds the statements of a migration during which requests wait for long or fail. All statements on a table that the
 * migration creates are allowed. Statements within functions and `do` blocks are not checked.
 * @param name the name of the migration
 */
export function findUnsafeStatements(statements: readonly string[], name: string): UnsafeStatement[] {
  const mayRemove = readRequiredVersion(name) !== undefined;
  const parsed = statements.map((statement) => ({ statement, parts: parse(statement) }));
  const migration = parsed.flatMap(({ parts }) => parts);
  const created = migration.filter(({ text }) => isCreation.test(text)).map(({ table }) => table);
  const isUnsafe = (rule: Check) => (part: Part) =>
    !created.includes(part.table) && rule.isViolated(part, migration);
  return parsed.flatMap(({ statement, parts }) =>
    checks
      .filter((rule) => !(mayRemove && rule.isForRemovals) && parts.some(isUnsafe(rule)))
      .map((rule) => ({ statement, rule })),
  );
}

const isCreation = /^create (\w+ )?table\b/;

function parse(sql: string): Part[] {
  return sql
    .replaceAll(/--[^\n]*|\/\*.*?\*\/|(\$\w*\$).*?\1|'(?:[^']|'')*'/gs, (found) =>
      /^[-/]/.test(found) ? ' ' : "''",
    )
    .toLowerCase()
    .split(';')
    .map((text) => text.replaceAll(/\s+/g, ' ').trim())
    .filter((text) => text !== '')
    .flatMap(parseStatement);
}

/** A table, perhaps with its schema. */
const TABLE = String.raw`(?:"?\w+"?\.)?"?(\w+)"?`;
const alteration = new RegExp(`^alter table (?:if exists )?(?:only )?${TABLE} (.*)$`);
const named = new RegExp(
  String.raw`^(?:.*\bindex\b.*? on|create (?:\w+ )?table(?: if not exists)?|update|delete from|merge into|truncate(?: table)?|lock(?: table)?)(?: only)? ${TABLE}`,
);

function parseStatement(text: string): Part[] {
  const [, altered, changes] = alteration.exec(text) ?? [];
  if (changes !== undefined) {
    return splitAtCommas(changes).map((change) => ({ table: altered, text: `alter table ${change}` }));
  }
  return [{ table: named.exec(text)?.[1], text }];
}

/** Splits at commas outside parentheses. */
function splitAtCommas(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) parts.push('');
    else parts.push(`${parts.pop()}${character}`);
  }
  return parts.map((part) => part.trim());
}
