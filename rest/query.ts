import type { Fault } from '../src/errors.ts';
import { type Binding, sourcesOf } from './binding.ts';

/** The query parameters that a route knows; unknown ones are ignored, bad ones become faults. */
export function queryOf(
  { bind, paged }: { bind: Binding; paged?: boolean },
  sent: URLSearchParams,
  faults: Fault[],
): Record<string, readonly string[]> {
  const query: Record<string, readonly string[]> = {};
  for (const source of sourcesOf(bind)) {
    if (source.from !== 'query' || !sent.has(source.name)) continue;
    const words = sent.getAll(source.name);
    const message = `must be one of ${source.shape.options.join(', ')}`;
    for (const value of words) {
      if (!source.shape.safeParse(value).success)
        faults.push({ path: ['query', source.name], message, value });
    }
    query[source.name] = [...new Set(words)];
  }
  if (paged) {
    Object.assign(query, wholeNumber('limit', 1, sent, faults), wholeNumber('offset', 0, sent, faults));
  }
  return query;
}

/** The page that a checked query asks for; without `limit` all the rest. */
export function pageOf({ limit, offset }: Readonly<Record<string, readonly string[]>>) {
  return { limit: numberOf(limit), offset: numberOf(offset) };
}

function wholeNumber(name: string, least: number, sent: URLSearchParams, faults: Fault[]) {
  const values = sent.getAll(name);
  const [value] = values;
  if (value === undefined) return {};
  if (values.length > 1) {
    faults.push({ path: ['query', name], message: 'must not be repeated', value: values });
  } else if (!/^\d{1,15}$/.test(value) || Number(value) < least) {
    faults.push({ path: ['query', name], message: `must be a whole number from ${least}`, value });
  }
  return { [name]: values };
}

function numberOf(values: readonly string[] | undefined): number | undefined {
  return values?.[0] === undefined ? undefined : Number(values[0]);
}
