import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { readSystemErrorCode } from '../src/errors/failure.ts';
import { matchesEntityTag, sendJson } from '../src/http/messages.ts';
import { contextOf } from '../src/server/caller.ts';
import type { Parts } from './binding.ts';
import { formatNextQuery, toListPart } from './query.ts';
import type { Paged, Route } from './route.ts';

/** The arguments of a list that only the REST API uses, and those of a page. */
export const listArguments = ['size', 'offset', 'isPart', 'ifNoneMatch', 'after', 'before'] as const;

/** What is selected of a list besides its records. */
export const listSelection = 'pageInfo { hasNextPage startCursor endCursor } etag';

/** A page of a list, with what {@link listSelection} selects. */
const ListPage = z.object({
  nodes: z.unknown(),
  pageInfo: z.object({
    hasNextPage: z.boolean(),
    startCursor: z.string().nullable(),
    endCursor: z.string().nullable(),
  }),
  etag: z.string().nullable(),
});

type ListPage = z.infer<typeof ListPage>;

/** Reads a page of the list that a request selects. */
type ReadPage = (page: Partial<Record<(typeof listArguments)[number], unknown>>) => Promise<unknown>;

/** A list of more records is long: a caller receives one at a time. */
const LONG_LIST = 500;

/** Creates the function that sends the list of a route. */
export function createListSender(
  { path, reply }: Route,
  { pageSize }: Paged,
  serialize: (records: unknown) => unknown,
  publicUrl: () => string,
) {
  const format = (page: ListPage) => JSON.stringify(serialize(page.nodes)).slice(1, -1);
  const opening = `{${JSON.stringify(reply.name)}:[`;

  /** Reads the list page by page, as fast as the client reads it, with a comma between pages that have records. */
  async function* formatPages(first: ListPage, readNext: (after: string | null) => Promise<ListPage>) {
    let text = format(first);
    yield opening + text;
    let isEmpty = text === '';
    for (let page = first; page.pageInfo.hasNextPage; ) {
      page = await readNext(page.pageInfo.endCursor);
      text = format(page);
      yield text === '' || isEmpty ? text : `,${text}`;
      isEmpty &&= text === '';
    }
    yield ']}';
  }

  async function send(request: Request, response: Response, parts: Parts, readPage: ReadPage): Promise<void> {
    const read: (...args: Parameters<ReadPage>) => Promise<ListPage> = async (page) =>
      ListPage.parse(await readPage(page));
    const context = contextOf(response);
    const { limit, offset, after } = toListPart(parts.query);
    const ifNoneMatch = request.headers['if-none-match'] ?? '';
    const isPart = limit === undefined && offset === undefined;
    const size = Math.min(limit ?? pageSize, pageSize);
    const first = await read({ size, offset, after, isPart, ifNoneMatch });
    const etag = first.etag ?? '';
    response.setHeader('ETag', etag).setHeader('Cache-Control', 'private, no-cache');
    response.appendHeader('Vary', 'Authorization');
    if (matchesEntityTag(ifNoneMatch, etag)) return sendJson(response, 304, undefined);
    const { hasNextPage, endCursor } = first.pageInfo;
    const rest = limit === undefined ? undefined : limit - size;
    // The last record of the requested part, and the one that follows it.
    const cut = rest && hasNextPage ? await read({ size: 2, offset: rest - 1, after: endCursor }) : undefined;
    const isCut = cut !== undefined && cut.pageInfo.startCursor !== cut.pageInfo.endCursor;
    const last = isCut ? cut.pageInfo.startCursor : rest === 0 && hasNextPage ? endCursor : null;
    // A list that ends before its limit costs as much as one without.
    if (last !== null && limit !== undefined) {
      context.quota.chargeList(context, limit);
      const next = `${publicUrl()}${path}?${formatNextQuery(parts.query, last)}`;
      response.setHeader('Link', `<${next}>; rel="next"`);
    }
    if (!hasNextPage || rest === 0) {
      const records = serialize(first.nodes);
      return sendJson(response, 200, { [reply.name ?? '']: records });
    }
    const before = isCut ? cut.pageInfo.endCursor : undefined;
    const readNext = (from: string | null) => read({ size: pageSize, after: from, before, isPart: true });
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' });
    try {
      await pipeline(formatPages(first, readNext), response);
    } catch (error) {
      // The client has disconnected.
      if (readSystemErrorCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    }
  }

  return (request: Request, response: Response, parts: Parts, readPage: ReadPage): Promise<void> => {
    const { limit = Number.POSITIVE_INFINITY } = toListPart(parts.query);
    const { readScheduler, viewer } = contextOf(response);
    const run = () => send(request, response, parts, readPage);
    return limit > LONG_LIST ? readScheduler.runList(viewer.userId, run) : run();
  };
}
