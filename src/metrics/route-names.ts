/** Stands for every path that the gateway does not have. */
const UNMATCHED = 'unmatched';

/**
 * Names the route of a path by its template (`/user/notifications/{id}/dismiss`), so that ids never become labels;
 * any other path is {@link UNMATCHED}.
 */
export function createRouteNames(templates: readonly string[]): (path: string) => string {
  const plain = new Set(templates.filter((template) => !template.includes('{')));
  const patterns = templates
    .filter((template) => !plain.has(template))
    .map((template) => ({
      template,
      pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]*')}$`),
    }));
  return (path) =>
    plain.has(path) ? path : (patterns.find(({ pattern }) => pattern.test(path))?.template ?? UNMATCHED);
}
