import type { ValidationIssue } from '../src/errors/gateway-errors.ts';

/** Matches the addresses of a path template exactly: case and slashes count, a parameter may be empty. */
export function pathPattern(template: string): RegExp {
  // Without a capturing group Express leaves the decoding to us, and with it the order of checks.
  return new RegExp(
    `^${template
      .split('/')
      .map((part) => (parameterName(part) ? '[^/]*' : part))
      .join('/')}$`,
  );
}

/** The decoded parameters of an address that matches the template; undecodable ones become issues. */
export function pathParameters(
  template: string,
  pathname: string,
  issues: ValidationIssue[],
): Record<string, string> {
  const segments = pathname.split('/');
  const parameters: Record<string, string> = {};
  for (const [index, part] of template.split('/').entries()) {
    const name = parameterName(part);
    const segment = segments[index] ?? '';
    if (name === undefined) continue;
    try {
      parameters[name] = decodeURIComponent(segment);
    } catch {
      issues.push({ path: ['path', name], message: 'is not percent-encoded UTF-8', value: segment });
    }
  }
  return parameters;
}

function parameterName(part: string): string | undefined {
  return /^\{(\w+)\}$/.exec(part)?.[1];
}
