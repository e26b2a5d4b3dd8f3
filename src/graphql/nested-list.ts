import type { Context } from '../context.ts';
import { MAX_COUNT } from '../database/page.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import { MAX_READ_BYTES } from '../quota/large-reads.ts';
import type { PageArguments } from './page-arguments.ts';

/** The maximum size of a page of a list inside another list, and its default size. */
const MAX_NESTED_PAGE_SIZE = 20;

/** The maximum number of records of such lists in a reply. */
const MAX_NESTED_RECORDS = 2000;

/** The description of lists that may be inside others. */
export const nestedPageNote = `In a list of users, \`first\` and \`last\` are at most ${MAX_NESTED_PAGE_SIZE}, which is the default, all such lists of a reply have at most ${MAX_NESTED_RECORDS} records, \`totalCount\` is at most ${MAX_COUNT}, and the field fails if a record is too large.`;

/**
 * Returns the arguments of a page of a list inside another list, with the default page size.
 * @throws {ValidationError} if the page is too large
 */
export function limitNestedPage(args: PageArguments): PageArguments {
  for (const name of ['first', 'last'] as const) {
    const value = args[name];
    if (value != null && value > MAX_NESTED_PAGE_SIZE) {
      const message = `must be at most ${MAX_NESTED_PAGE_SIZE} in a list inside another list`;
      throw new ValidationError([{ path: [name], message, value }]);
    }
  }
  return args.last == null ? { ...args, first: args.first ?? MAX_NESTED_PAGE_SIZE } : args;
}

/**
 * Adds records, and the size of their long texts, to those that a reply returns inside lists.
 * @throws {ValidationError} if they exceed a limit
 */
export function countNested(context: Context, records: number, bytes = 0): void {
  context.nested.records += records;
  context.nested.bytes += bytes;
  if (context.nested.records <= MAX_NESTED_RECORDS && context.nested.bytes <= MAX_READ_BYTES) return;
  const message = `exceeds the limit of ${MAX_NESTED_RECORDS} records, or of ${MAX_READ_BYTES / 2 ** 20} MiB, inside the lists of a reply`;
  throw new ValidationError([{ path: [], message, value: null }]);
}
