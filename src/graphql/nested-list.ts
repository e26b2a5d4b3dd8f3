import { MAX_COUNT } from '../database/page.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { ListArguments } from './page-arguments.ts';

/** The maximum size of a page of a list inside another list, and its default size. */
const MAX_NESTED_PAGE_SIZE = 20;

/** The description of lists that may be inside others. */
export const nestedPageNote = `In a list of users, \`first\` and \`last\` are at most ${MAX_NESTED_PAGE_SIZE}, which is the default, and \`totalCount\` is at most ${MAX_COUNT}.`;

/**
 * Returns the arguments of a page of a list inside another list, with the default page size.
 * @throws {ValidationError} if the page is too large
 */
export function limitNestedPage(args: ListArguments): ListArguments {
  for (const name of ['first', 'last'] as const) {
    const value = args[name];
    if (value != null && value > MAX_NESTED_PAGE_SIZE) {
      const message = `must be at most ${MAX_NESTED_PAGE_SIZE} in a list inside another list`;
      throw new ValidationError([{ path: [name], message, value }]);
    }
  }
  return args.last == null ? { ...args, first: args.first ?? MAX_NESTED_PAGE_SIZE } : args;
}
