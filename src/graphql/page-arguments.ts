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

type PageArguments = Partial<InputShapeFromFields<ReturnType<typeof definePageArguments>>>;

/** Marks an argument or a field that only the documents of the REST API can use. */
export const restOnly = { extensions: { isRestOnly: true } };

/** Defines the arguments by which the REST API reads a list page by page. */
export function defineRestArguments() {
  return builder.args((t) => ({
    /** The number of records of the page. */
    size: t.int(restOnly),
    /** How many records are skipped. */
    offset: t.int(restOnly),
    /** Whether the page is a part of a long list, which may be shorter although others follow. */
    isPart: t.boolean(restOnly),
    /** For the first page, which has the entity tag: the header, or an empty string. */
    ifNoneMatch: t.string(restOnly),
  }));
}

type RestArguments = Partial<InputShapeFromFields<ReturnType<typeof defineRestArguments>>>;

/** The arguments of a list. */
export type ListArguments = PageArguments & RestArguments;

/** A list costs a point when it begins. The REST API charges the rest: see `chargeRecords`. */
export function countListPoints({ size, ifNoneMatch }: Readonly<Record<string, unknown>>): number {
  return size == null || ifNoneMatch != null ? 1 : 0;
}

/** A filtered page ends after so many checked records, so that it costs no more than reading some pages. */
export const SCAN_LIMIT = 2000;

/** The same for a part of a list of the REST API, so that no statement takes long. Its single pages have no such limit. */
const PART_SCAN_LIMIT = 10_000;

/**
 * Converts the arguments of a list to a page.
 * @throws {ValidationError} for an invalid cursor, or if `first` and `last` are combined
 */
export function toPage(
  { first, after, last, before, size, offset, isPart }: ListArguments,
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
    limit: size ?? last ?? first ?? DEFAULT_PAGE_SIZE,
    offset: offset ?? undefined,
    isPart: isPart ?? undefined,
    scanLimit: size == null ? SCAN_LIMIT : isPart ? PART_SCAN_LIMIT : undefined,
  };
  if (issues.length > 0) throw new ValidationError(issues);
  return page;
}
