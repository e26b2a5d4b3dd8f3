import type { ValidationIssue } from '../src/errors/issue.ts';

/** Decodes the parameters of a path that matches the template. Invalid encodings become issues. */
export function parsePathParameters(
  template: string,
  pathname: string,
  issues: ValidationIssue[],
): Record<string, string> {
  const segments = pathname.split('/');
  const parameters: Record<string, string> = {};
  for (const [index, part] of template.split('/').entries()) {
    const name = parseParameterName(part);
    const segment = segments[index] ?? '';
    if (name === undefined) continue;
    try {
      parameters[name] = decodeURIComponent(segment);
    } catch {
      issues.push({ path: ['path', name], message: 'must be percent-encoded UTF-8', value: segment });
    }
  }
  return parameters;
}

function parseParameterName(part: string): string | undefined {
  return /^\{(\w+)\}$/.exec(part)?.[1];
}
