import { type GatewayError, MAX_ERROR_ITEMS } from './gateway-errors.ts';
import { formatLocation, isRecord } from './issue.ts';

/** An item of `errors`, the same in both APIs. */
export type ErrorItem = { location: string; message: string; value: unknown };

/** Values whose JSON is larger are described instead of repeated. */
const MAX_VALUE_BYTES = 1024;

/** The same for the members of a value that the gateway made. */
const MAX_OWN_BYTES = 32 * 1024;

/** The maximum size of all items of a reply. */
const MAX_ITEMS_BYTES = 120 * 1024;

/** Creates a function that converts the errors of one reply to items. Items beyond the limits are dropped. */
export function createItemSerializer(): (error: Pick<GatewayError, 'issues'>) => ErrorItem[] {
  let itemsLeft = MAX_ERROR_ITEMS;
  let bytesLeft = MAX_ITEMS_BYTES;

  return ({ issues }) =>
    issues.flatMap(({ path, message, value, isOwn }) => {
      const shown = isOwn && isRecord(value) ? clipMembers(value) : clip(value);
      const item = { location: formatLocation(path), message, value: shown };
      const bytes = Buffer.byteLength(JSON.stringify(item));
      if (itemsLeft === 0 || bytes > bytesLeft) return [];
      itemsLeft -= 1;
      bytesLeft -= bytes;
      return [item];
    });
}

function clipMembers(value: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, clip(member, MAX_OWN_BYTES)]),
  );
}

function clip(value: unknown, maximum = MAX_VALUE_BYTES): unknown {
  if (estimateLength(value, maximum) <= maximum) {
    const json = JSON.stringify(value) ?? '';
    if (Buffer.byteLength(json) <= maximum) return value;
  }
  if (typeof value === 'string') return `[string of ${value.length} characters]`;
  return Array.isArray(value) ? `[array of ${value.length} items]` : '[object]';
}

/** Returns a lower bound of the length of a value's JSON. Stops at the limit, to avoid walking large values. */
function estimateLength(value: unknown, maximum: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let length = 0;
  for (const key in value) {
    if (length > maximum) break;
    length += (Array.isArray(value) ? 1 : key.length) + estimateLength(Reflect.get(value, key), maximum);
  }
  return length;
}
