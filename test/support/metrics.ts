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
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/y;

/** Reads the metrics. @throws {Error} for a line that does not match the format */
export async function scrape(
  { address }: { address: string },
  headers: Record<string, string> = {},
): Promise<Scrape> {
  const response = await fetch(`${address}/metrics`, { headers });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const lines = text.split('\n').filter((line) => line !== '');
  const samples = lines.filter((line) => !line.startsWith('#')).map(parseSample);
  const types = lines.flatMap((line) => {
    const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    return name === '' ? [] : [[name, type] as const];
  });
  return {
    samples,
    types: new Map(types),
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
  const [, name, inner = '', value] = SAMPLE.exec(line) ?? [];
  if (name === undefined) throw new Error(`Invalid sample: ${line}`);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < inner.length) {
    const [, label, text = ''] = LABEL.exec(inner) ?? [];
    if (label === undefined) throw new Error(`Invalid labels: ${line}`);
    labels[label] = text;
  }
  return { name, labels, value: Number(value === '+Inf' ? Infinity : value) };
}
