import type { InputShapeFromFields } from '@pothos/core';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { ValidationIssue } from '../errors/issue.ts';
import { parsePosition } from '../values/cursor.ts';
import { isId as isValidId } from '../values/text.ts';
import { builder } from './builder.ts';
import { wholeNumberRule } from './rules.ts';

/** The default page size. */
export const DEFAULT_PAGE_SIZE = 50;
/** The maximum page size. */
export const MAX_PAGE_SIZE = 100;

/** Defines the arguments of a connection. */
export function definePageArguments() {
  return builder.args((t) => ({
    first: t.int({
      description: `The number of records to return from the start of the list, 1 to ${MAX_PAGE_SIZE}. Defaults to ${DEFAULT_PAGE_SIZE}.`,
      validate: wholeNumberRule(1, MAX_PAGE_SIZE),
    }),
    after: t.string({ description: 'Returns only records after this cursor.' }),
    last: t.int({
      description: `The number of records to return from the end of the list, 1 to ${MAX_PAGE_SIZE}. Cannot be combined with \`first\`.`,
      validate: wholeNumberRule(1, MAX_PAGE_SIZE),
    }),
    before: t.string({ description: 'Returns only records before this cursor.' }),
  }));
}

/** Defines the arguments of a connection that pages forwards only. */
export function defineForwardArguments() {
  const { first, after } = definePageArguments();
  return { first, after };
}

export type PageArguments = Partial<InputShapeFromFields<ReturnType<typeof definePageArguments>>>;

/**
 * Converts the arguments of a connection to a page.
 * @throws {ValidationError} for an invalid cursor, or if `first` and `last` are combined
 */
export function toPage(
  { first, after, last, before }: PageArguments,
  isId: (id: string) => boolean,
  isAcrossUsers = false,
) {
  const issues: ValidationIssue[] = [];
  if (first != null && last != null) {
    issues.push({ path: ['last'], message: 'must not be combined with first', value: last });
  }
  const parse = (argument: string, cursor: string | null | undefined) => {
    const found = cursor == null ? undefined : parsePosition(cursor);
    const isOfUser = isAcrossUsers ? isValidId(found?.userId ?? '') : found?.userId === undefined;
    const isOfList = found && isId(found.id) && isOfUser;
    if (cursor != null && !isOfList) {
      issues.push({ path: [argument], message: 'must be a cursor of this list', value: cursor });
    }
    return found;
  };
  const page = {
    after: parse('after', after),
    before: parse('before', before),
    backwards: last != null,
    limit: last ?? first ?? DEFAULT_PAGE_SIZE,
  };
  if (issues.length > 0) throw new ValidationError(issues);
  return page;
}
