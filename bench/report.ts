import { readFileSync, writeFileSync } from 'node:fs';

/** The median of values, and the lowest and highest of them. */
export type Range = { median: number; min: number; max: number };

/** Returns the median and the range; NaN for no values. */
export function rangeOf(values: readonly number[]): Range {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  const median = (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2;
  return { median, min: at(0), max: at(sorted.length - 1) };
}

/** Formats a median with its range: `1.24 (1.18 to 1.31)`. */
export const formatRange = ({ median, min, max }: Range, digits = 2) =>
  `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;

/** Formats a number: with one digit after the point if it is below 10. */
export const formatNumber = (value: number) =>
  value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en');

/* The results of the bench: what it prints, bench/results.json, and the parts of documents that quote it. */

/** A measurement: a table, whose first row is its head, with when and on what it was made. */
export type Entry = {
  title: string;
  date: string;
  machine: string;
  /** How it was made: `12 rounds after 25,000 requests`. */
  method: string;
  table: readonly (readonly string[])[];
};

/** The latest whole run of each measurement, by its name. */
export type Results = Readonly<Record<string, Entry>>;

const locate = (path: string) => new URL(`../${path}`, import.meta.url);
const RESULTS = locate('bench/results.json');

/** Reads the recorded results. */
export function readResults(): Results {
  return JSON.parse(readFileSync(RESULTS, 'utf8'));
}

/** Stores results in place of those of the same measurements, and updates the documents. */
export function recordResults(results: Results): void {
  const all = { ...readResults(), ...results };
  writeFileSync(RESULTS, `${JSON.stringify(all, null, 2)}\n`);
  for (const [path, update] of Object.entries(documents))
    writeFileSync(locate(path), update(readFileSync(locate(path), 'utf8'), all));
}

/** Functions that replace the results in a document, by its path. */
export const documents: Readonly<Record<string, (text: string, results: Results) => string>> = {
  'docs/performance.md': (text, results) =>
    replaceBetween(text, '<!-- results -->\n', '<!-- end of results -->', formatPage(results)),
  'README.md': (text, results) => replaceBetween(text, '- **Fast.** ', ' ([measurements]', quote(results)),
};

function replaceBetween(text: string, start: string, end: string, content: string): string {
  const from = text.indexOf(start) + start.length;
  const to = text.indexOf(end, from);
  if (from < start.length || to === -1) throw new Error(`A document has no ${start} before ${end}.`);
  return text.slice(0, from) + content + text.slice(to);
}

function formatPage(results: Results): string {
  const sections = Object.values(results).map(
    ({ title, date, machine, method, table }) =>
      `### ${title}\n\n${date}, ${machine}.\n${method}.\n\n${formatTable(table, '| ', ' | ', ' |')}\n`,
  );
  return `\n${sections.join('\n')}\n`;
}

/** Quotes the comparison of lists with the GraphQL peers. */
function quote({ notifications }: Results): string {
  const [head = [], ...rows] = notifications?.table ?? [];
  const ratioOf = (peer: string) => {
    const cell = rows.find(([title]) => title === peer)?.[head.indexOf('ratio of requests/s')];
    if (cell === undefined) throw new Error(`The results have no ratio to ${peer}.`);
    return cell.split(' ', 1)[0];
  };
  const apollo = ratioOf('Apollo Server + Express + pg');
  const mercurius = ratioOf('Fastify + mercurius (JIT) + pg');
  const equipped = ratioOf('The same with limits, a log and metrics');
  return `In the latest run, a GraphQL query for 20 notifications reached ${apollo} times the throughput of Apollo Server,
  ${mercurius} times that of Fastify with Mercurius, ${equipped} times if that has limits and a log, too`;
}

/** Formats a table for people and for Markdown, with its columns below each other. */
function formatTable(table: Entry['table'], start: string, separator: string, end: string): string {
  const widthOf = (column: number) => Math.max(3, ...table.map((row) => row[column]?.length ?? 0));
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widthOf(column))));
  const rule = lines[0]?.map((cell) => '-'.repeat(cell.length)) ?? [];
  const all = [...lines.slice(0, 1), rule, ...lines.slice(1)];
  return all.map((cells) => `${start}${cells.join(separator)}${end}`.trimEnd()).join('\n');
}

/** Prints a measurement. */
export const printEntry = ({ title, method, table }: Entry) =>
  process.stdout.write(`\n${title} (${method})\n${formatTable(table, '  ', '  ', '')}\n`);

/** Writes a line of progress to standard error. */
export const reportProgress = (line: string) => process.stderr.write(`${line}\n`);
