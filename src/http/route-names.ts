/** The route name of unknown paths. */
const UNMATCHED = 'unmatched';

/** Converts a path template (`/user/notifications/{id}`) to a case-sensitive pattern. Parameters may be empty. */
export function toPattern(template: string): RegExp {
  // Without capturing groups, Express does not decode parameters; an invalid encoding is reported after authentication.
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]*')}$`);
}

/** Creates a function that maps a path to its template, so that IDs do not become metric labels. */
export function createRouteNames(templates: readonly string[]): (path: string) => string {
  const plain = new Set(templates.filter((template) => !template.includes('{')));
  const patterns = templates
    .filter((template) => !plain.has(template))
    .map((template) => ({ template, pattern: toPattern(template) }));
  return (path) =>
    plain.has(path) ? path : (patterns.find(({ pattern }) => pattern.test(path))?.template ?? UNMATCHED);
}
