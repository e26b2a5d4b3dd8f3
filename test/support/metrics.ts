/** One line of the text format of Prometheus. */
export type Sample = { name: string; labels: Readonly<Record<string, string>>; value: number };

/** The metrics of a gateway. */
export type Scrape = {
  samples: readonly Sample[];
  /** The type of every metric by name, including metrics without samples. */
  types: ReadonlyMap<string, string>;
  /** The sum of the samples with this name and at least these labels; undefined if there are none. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
};

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g;

/** Reads the metrics. @throws {Error} for a line that does not match the format */
export async function scrape(
  { address }: { address: string },
  headers: Record<string, string> = {},
): Promise<Scrape> {
  const response = await fetch(`${address}/metrics`, { headers });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const samples = text.match(/^[^#\n].*$/gm)?.map(parseSample) ?? [];
  const types = text.matchAll(/^# TYPE (\S+) (\S+)$/gm);
  return {
    samples,
    types: new Map(Array.from(types, ([, name = '', type = '']) => [name, type])),
    sum(name, labels = {}) {
      const found = samples.filter(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

function parseSample(line: string): Sample {
  const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
  if (name === undefined || labels.replace(LABEL, '') !== '') throw new Error(`Invalid sample: ${line}`);
  const pairs = Array.from(labels.matchAll(LABEL), ([, label = '', text = '']) => [label, text]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value === '+Inf' ? Infinity : value) };
}
