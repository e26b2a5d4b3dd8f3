/** The route name of every path that the gateway does not serve. */
const UNMATCHED = 'unmatched';

/** Matches the paths of a template (`/user/notifications/{id}`) exactly: case-sensitive; a parameter may be empty. */
export function templatePattern(template: string): RegExp {
  // Without a capturing group Express leaves decoding to us, and with it the order of checks.
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]*')}$`);
}

/** Names the route of a path by its template, so that IDs never become labels of a metric. */
export function createRouteNames(templates: readonly string[]): (path: string) => string {
  const plain = new Set(templates.filter((template) => !template.includes('{')));
  const patterns = templates
    .filter((template) => !plain.has(template))
    .map((template) => ({ template, pattern: templatePattern(template) }));
  return (path) =>
    plain.has(path) ? path : (patterns.find(({ pattern }) => pattern.test(path))?.template ?? UNMATCHED);
}
