/** Reads a field of a record in a cache, or of an object in the record. Returns undefined if it was not loaded. */
export type ReadField = (...path: readonly [string, ...string[]]) => unknown;

/**
 * Returns whether a notification or workspace meets the conditions of a list's argument `filter`. Conditions that cannot be
 * checked, because the field was not loaded or the condition is unknown, count as `unchecked`.
 */
export function matchesFilter(filter: unknown, read: ReadField, unchecked: boolean): boolean {
  return Object.entries(Object(filter)).every(
    ([name, wanted]) => wanted == null || (checkCondition(name, wanted, read) ?? unchecked),
  );
}

function checkCondition(name: string, wanted: unknown, read: ReadField): boolean | undefined {
  const isOneOf = (value: unknown) =>
    value === undefined || !Array.isArray(wanted) ? undefined : wanted.includes(value);
  const compareCreation = () => Date.parse(String(read('createdAt'))) - Date.parse(String(wanted));
  switch (name) {
    case 'statuses':
      return isOneOf(read('status'));
    case 'kinds':
      return isOneOf(read('kind'));
    case 'projectIds':
      return isOneOf(read('task', 'projectId') ?? read('projectId'));
    case 'taskIds':
      return isOneOf(read('task', 'id'));
    case 'requestStates':
      return read('request') === null ? false : isOneOf(read('request', 'state'));
    case 'createdFrom':
      return isUnknown(compareCreation()) ? undefined : compareCreation() >= 0;
    case 'createdBefore':
      return isUnknown(compareCreation()) ? undefined : compareCreation() < 0;
    default:
      return undefined;
  }
}

const isUnknown = (difference: number) => Number.isNaN(difference);

/**
 * Returns the index at which a record belongs in a list, newest first, or undefined if its place may be on a page that was
 * not loaded. Times are those of `createdAt`.
 */
export function findPlace(
  createdAt: unknown,
  others: readonly unknown[],
  hasNextPage: boolean,
): number | undefined {
  const index = others.findIndex((other) => String(createdAt) >= String(other ?? ''));
  if (index !== -1) return index;
  return hasNextPage ? undefined : others.length;
}
