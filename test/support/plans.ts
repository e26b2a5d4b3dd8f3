import type pg from 'pg';
import { z } from 'zod';
import type { Statement } from './statements.ts';

const Plan = z.object({
  'Node Type': z.string(),
  'Relation Name': z.string().optional(),
  'Index Name': z.string().optional(),
  'Actual Rows': z.number().default(0),
  'Actual Loops': z.number().default(0),
  'Rows Removed by Filter': z.number().default(0),
  'Rows Removed by Index Recheck': z.number().default(0),
  'Shared Hit Blocks': z.number().default(0),
  'Shared Read Blocks': z.number().default(0),
  get Plans() {
    return z.array(Plan).default([]);
  },
});
type Plan = z.output<typeof Plan>;

/** Returns the nodes of a plan, except those of `database_epoch`, a table of one row. */
function listNodes(plan: Plan): Plan[] {
  if (plan['Relation Name'] === 'database_epoch') return [];
  return [plan, ...plan.Plans.flatMap(listNodes)];
}

/** The settings of the pool on which entity managers run, which a client of prepared statements lacks. */
const ofEntityManagers = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin']
  .map((name) => `set local enable_${name} = on;`)
  .join(' ');

/**
 * Returns the custom plan and the generic plan of each statement, after executing it and rolling it back. A statement of an
 * entity manager, which is not prepared, has a custom plan only.
 * @param own what the transaction of the statements sets itself
 */
export async function explainAll(
  client: pg.ClientBase,
  statements: readonly Statement[],
  own = '',
): Promise<Plan[]> {
  const plans: Plan[] = [];
  for (const statement of statements) {
    const settings =
      statement.name === undefined
        ? [`${ofEntityManagers} set local plan_cache_mode = force_custom_plan`]
        : ['force_custom_plan', 'force_generic_plan'].map((mode) => `set local plan_cache_mode = ${mode}`);
    for (const setting of settings) {
      await client.query(`begin; ${setting}; ${own}`);
      // Only prepared statements have generic plans, and `explain` takes no parameters.
      await client.query(`prepare statement as ${statement.text}`);
      plans.push(await explain(client, `execute statement${formatInputs(client, statement)}`));
      await client.query('rollback; deallocate statement');
    }
  }
  return plans;
}

/**
 * Returns a plan of each statement, executed after `fill`. Those that are prepared are prepared, and executed once, before
 * it.
 */
export async function explainAfter(
  client: pg.ClientBase,
  statements: readonly Statement[],
  fill: () => Promise<unknown>,
): Promise<Plan[]> {
  const executions = statements.map(
    (statement, index) => `execute earlier_${index}${formatInputs(client, statement)}`,
  );
  for (const [index, { name, text }] of statements.entries()) {
    if (name === undefined) continue;
    await client.query(`prepare earlier_${index} as ${text}`);
    await client.query(`begin; ${executions[index]}; rollback`);
  }
  await fill();
  const plans: Plan[] = [];
  for (const [index, statement] of statements.entries()) {
    if (statement.name === undefined) {
      plans.push(...(await explainAll(client, [statement])));
      continue;
    }
    await client.query('begin');
    plans.push(await explain(client, executions[index] ?? ''));
    await client.query('rollback');
  }
  return plans;
}

async function explain(client: pg.ClientBase, execution: string): Promise<Plan> {
  const { rows } = await client.query(`explain (format json, analyze, buffers) ${execution}`);
  const plan = Plan.parse(rows[0]['QUERY PLAN'][0].Plan);
  const { rows: settings } = await client.query('show server_version_num');
  const version = Number(settings[0].server_version_num);
  return version < 180_000 ? undoExcess(plan, version < 150_000) : plan;
}

/**
 * Before version 18, PostgreSQL rounds the average number of rows of a loop: the real one may be 0.5 less. Version 14
 * reads a row more than the limit of a window function.
 */
function undoExcess(plan: Plan, readsAhead: boolean): Plan {
  const { 'Actual Rows': rows, 'Actual Loops': loops } = plan;
  const excess = readsAhead ? 1 : loops > 1 ? 0.5 : 0;
  const Plans = plan.Plans.map((child) => undoExcess(child, readsAhead));
  return { ...plan, 'Actual Rows': Math.max(rows - excess, 0), Plans };
}

function formatInputs(client: pg.ClientBase, { values }: Statement): string {
  const inputs = values.map((value) =>
    value === null ? 'null' : client.escapeLiteral(formatLiteral(value)),
  );
  return inputs.length === 0 ? '' : `(${inputs.join(', ')})`;
}

function formatLiteral(value: unknown): string {
  const quote = (item: unknown) => (item === null ? 'null' : JSON.stringify(String(item)));
  if (Array.isArray(value)) return `{${value.map(quote).join(',')}}`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Returns how many records of a table or entries of its indexes a plan scanned. */
export function countScanned(plan: Plan, table: string): number {
  return listNodes(plan)
    .filter((node) => node['Relation Name'] === table || node['Node Type'] === 'Bitmap Index Scan')
    .map((node) => {
      const rows =
        node['Actual Rows'] + node['Rows Removed by Filter'] + node['Rows Removed by Index Recheck'];
      return Math.round(rows * node['Actual Loops']);
    })
    .reduce((sum, rows) => sum + rows, 0);
}

/** Returns the names of a table's indexes that a plan uses, or the types of nodes that read the table without one. */
export function listIndexes(plan: Plan, table: string): string[] {
  return listNodes(plan).flatMap((node) => {
    const { 'Node Type': type, 'Relation Name': relation, 'Index Name': index } = node;
    if (type === 'Bitmap Index Scan') return index?.startsWith(`${table}_`) ? index : [];
    return relation === table && type !== 'Bitmap Heap Scan' ? (index ?? type) : [];
  });
}

/**
 * Returns how many pages of tables and indexes a plan read. Unlike {@link countScanned}, includes index entries that did
 * not match.
 */
export function countPages(plan: Plan): number {
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}
