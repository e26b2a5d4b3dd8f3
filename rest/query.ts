import type { ValidationIssue } from '../src/errors/gateway-errors.ts';
import { describeRange, wholeNumberSchema } from '../src/values/constraints.ts';
import { type Binding, listSources } from './binding.ts';

/** The parameters of a page. */
export const pageShapes = { limit: wholeNumberSchema(1), offset: wholeNumberSchema(0) };

/** The query parameters of a route. Unknown ones are ignored, invalid ones become issues. */
export function parseQuery(
  { bind, paged }: { bind: Binding; paged?: boolean },
  sent: URLSearchParams,
  issues: ValidationIssue[],
): Record<string, readonly string[]> {
  const query: Record<string, readonly string[]> = {};
  for (const source of listSources(bind)) {
    if (source.from !== 'query' || !sent.has(source.name)) continue;
    const words = sent.getAll(source.name);
    const message = `must be one of ${source.shape.options.join(', ')}`;
    for (const value of words) {
      if (!source.shape.safeParse(value).success)
        issues.push({ path: ['query', source.name], message, value });
    }
    query[source.name] = [...new Set(words)];
  }
  if (paged) {
    Object.assign(query, wholeNumber('limit', sent, issues), wholeNumber('offset', sent, issues));
  }
  return query;
}

/** The page that a checked query requests. Without `limit` it extends to the end of the list. */
export function toPage({ limit, offset }: Readonly<Record<string, readonly string[]>>) {
  return { limit: toNumber(limit), offset: toNumber(offset) };
}

function wholeNumber(name: keyof typeof pageShapes, sent: URLSearchParams, issues: ValidationIssue[]) {
  const values = sent.getAll(name);
  const [value] = values;
  if (value === undefined) return {};
  if (values.length > 1) {
    issues.push({ path: ['query', name], message: 'must not be repeated', value: values });
  } else if (!/^\d+$/.test(value) || !pageShapes[name].safeParse(Number(value)).success) {
    const { minValue, maxValue } = pageShapes[name];
    issues.push({ path: ['query', name], message: describeRange(minValue, maxValue), value });
  }
  return { [name]: values };
}

function toNumber(values: readonly string[] | undefined): number | undefined {
  return values?.[0] === undefined ? undefined : Number(values[0]);
}
