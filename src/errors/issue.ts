/** The path of an error item, from the root of the request: `['input', 'preferences', 0, 'emailEnabled']`. */
export type Path = readonly (string | number)[];

/** One broken rule. `value` is the value sent: null if none was, `REDACTED` if it may contain a credential. */
export type ValidationIssue = {
  readonly path: Path;
  readonly message: string;
  readonly value: unknown;
  /**
   * The number of keys at the end of the path that are not in the schema. The client chose them, so messages omit them.
   * Defaults to 0.
   */
  readonly unknownKeyCount?: number;
  /** Whether `value` is an object of the gateway's instead of what was sent. Its members are shown if they are not very large. */
  readonly isOwn?: boolean;
};

/** Callers can send keys of any length. */
const MAX_KEY_CHARACTERS = 100;

/** Formats a path for clients: `body.preferences[0].email_enabled`. */
export function formatLocation(path: Path): string {
  return path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${cutKey(step)}`,
    )
    .join('');
}

function cutKey(key: string): string {
  return key.length <= MAX_KEY_CHARACTERS ? key : `${key.slice(0, MAX_KEY_CHARACTERS).toWellFormed()}…`;
}

/** Describes the first issue and counts the others. */
export function summarizeIssues([first, ...others]: readonly ValidationIssue[]): string {
  if (first === undefined) throw new Error('A validation error requires at least one issue.');
  const { path, unknownKeyCount = 0, message } = first;
  const location = formatLocation(path.slice(0, path.length - unknownKeyCount));
  const description = `${unknownKeyCount === 0 ? location : `a part of ${location}`} ${message}`;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `Invalid request: ${description}${more}.`;
}

/** Whether a JSON value is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value at a path of a JSON value; undefined if there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((parent, step) => {
    if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, step)) return undefined;
    return Reflect.get(parent, step);
  }, value);
}
