import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';
import {
  createInbox,
  type Inbox,
  type InboxOptions,
  type NotificationList,
  type Store,
} from '../../clients/typescript/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { type Kind, publish } from '../support/records.ts';
import { startServer } from '../support/servers.ts';
import { member } from '../support/tokens.ts';

/** Starts a gateway with a proxy, through which members open inboxes until the end of a test. */
export function useInboxes() {
  const gateway = useGateway();
  let proxy: Awaited<ReturnType<typeof startReplyProxy>>;
  const opened: Inbox[] = [];
  const close = () => {
    for (const inbox of opened.splice(0)) void inbox.signOut();
  };
  beforeAll(async () => {
    proxy = await startReplyProxy(gateway);
  });
  afterEach(() => {
    close();
    vi.unstubAllGlobals();
    proxy.edit((_operation, part) => part);
  });
  afterAll(() => proxy.close());
  /** Opens the inbox of a member, by default through the proxy. */
  function open(user: string, options: Partial<InboxOptions> = {}, at: { address: string } = proxy): Inbox {
    const inbox = createInbox({ url: `${at.address}/graphql`, getToken: () => member(user), ...options });
    opened.push(inbox);
    return inbox;
  }
  return {
    gateway,
    open,
    /** Opens an inbox, and subscribes to its active notifications. */
    openList(...params: Parameters<typeof open>) {
      const inbox = open(...params);
      const list = inbox.notifications();
      watch(list);
      return { inbox, list };
    },
    /** Publishes notifications, and returns their IDs, newest first. */
    async publishMany(user: string, count: number, kind?: Kind): Promise<string[]> {
      const ids: string[] = [];
      for (let number = 0; number < count; number += 1) ids.unshift((await publish(gateway, user, kind)).id);
      return ids;
    },
    /** Signs out of all of them. */
    close,
    /** Edits each part of the replies to come to an operation; the other ones stay as they are. */
    edit(operation: string, change: (part: string) => string | 'cut') {
      proxy.edit((name, part) => (name === operation ? change(part) : part));
    },
    /** Returns the operations that were sent since this was called. */
    countOperations(): () => string[] {
      const before = proxy.operations.length;
      return () => proxy.operations.slice(before);
    },
    /** Returns the IDs of the answers that were sent since this was called. */
    collectAnswerIds(): () => string[] {
      const before = proxy.bodies.length;
      return () => proxy.bodies.slice(before).flatMap((body) => /"answerId":"(\w+)"/.exec(body)?.[1] ?? []);
    },
  };
}

/** Subscribes to a store, and returns a function that reads it. */
export function watch<State>(store: Store<State>): () => State {
  store.subscribe(() => undefined);
  return () => store.get();
}

/** Returns the IDs that a list shows. */
export const shownIds = (list: NotificationList) => list.get().data?.notifications.map(({ id }) => id);

/** Waits until a list shows notifications. */
export const expectShown = (list: NotificationList, ...ids: (string | undefined)[]) =>
  eventually(() => expect(shownIds(list)).toEqual(ids));

/** Waits until an inbox receives events. */
export const awaitLive = (inbox: Inbox) =>
  eventually(() => expect(inbox.connection.get().state).toBe('live'));

/**
 * Starts an HTTP proxy in front of a gateway that counts operations and edits replies. A reply to a query is one part, an
 * event of a stream as well.
 */
async function startReplyProxy({ address }: { address: string }) {
  const operations: string[] = [];
  const bodies: string[] = [];
  /** Replaces a part of a reply, or cuts the connection. */
  let edit = (_operation: string, part: string): string | 'cut' => part;

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await text(incoming);
    const operation = /(?:query|mutation|subscription) (\w+)/.exec(body)?.[1] ?? '';
    operations.push(operation);
    bodies.push(body);
    const { host: _host, ...headers } = incoming.headers;
    const sent = forward(`${address}${incoming.url}`, { method: incoming.method, headers });
    outgoing.on('close', () => sent.destroy());
    sent.on('error', () => outgoing.destroy());
    sent.on('response', async (reply) => {
      const { 'content-length': _length, ...kept } = reply.headers;
      outgoing.writeHead(reply.statusCode ?? 500, kept).flushHeaders();
      const isStream = reply.headers['content-type']?.startsWith('text/event-stream');
      reply.setEncoding('utf8').on('error', () => outgoing.destroy());
      const send = (part: string) => {
        const edited = edit(operation, part);
        if (edited === 'cut') outgoing.destroy();
        else outgoing.write(edited);
      };
      if (isStream) reply.on('data', send).on('end', () => outgoing.end());
      else {
        send(await text(reply));
        outgoing.end();
      }
    });
    sent.end(body);
  }

  const server = createServer(
    (incoming, outgoing) => void handle(incoming, outgoing).catch(() => outgoing.destroy()),
  );
  const { url, close } = await startServer(server);
  return {
    address: url,
    /** The names of the operations that were sent, in order. */
    operations,
    /** The bodies of the operations that were sent. */
    bodies,
    /** Edits each part of the replies to come. */
    edit(change: typeof edit) {
      edit = change;
    },
    close,
  };
}
