import type { Fault } from '../src/errors.ts';

/** Matches the addresses of a path template exactly: case and slashes count, a parameter may be empty. */
export function pathPattern(template: string): RegExp {
  // Without a capturing group Express leaves the decoding to us, and with it the order of checks.
  return new RegExp(
    `^${template
      .split('/')
      .map((part) => (parameterOf(part) ? '[^/]*' : part))
      .join('/')}$`,
  );
}

/** The decoded parameters of an address that matches the template; undecodable ones become faults. */
export function pathParameters(template: string, pathname: string, faults: Fault[]): Record<string, string> {
  const segments = pathname.split('/');
  const parameters: Record<string, string> = {};
  for (const [index, part] of template.split('/').entries()) {
    const name = parameterOf(part);
    const segment = segments[index] ?? '';
    if (name === undefined) continue;
    try {
      parameters[name] = decodeURIComponent(segment);
    } catch {
      faults.push({ path: ['path', name], message: 'is not percent-encoded UTF-8', value: segment });
    }
  }
  return parameters;
}

function parameterOf(part: string): string | undefined {
  return /^\{(\w+)\}$/.exec(part)?.[1];
}
