import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { startServer } from '../support/servers.ts';

/** What happens to a call: a reply, a lost reply, or the death of the sender at a step. */
export const fates = [
  'ok',
  'unavailable',
  'message_rejected',
  'no_reply',
  'killed_before',
  'killed_after_receipt',
  'killed_after_reply',
] as const;
export type Fate = (typeof fates)[number];

/** Fates after which the sender does not know that the message was accepted. */
export const isLossy = (fate: Fate) => fate === 'no_reply' || fate.startsWith('killed_after');

/** A call to post a message. `isAccepted` is whether the member has it. */
export type Post = { title: string; fate: Fate; isAccepted: boolean };

/**
 * A chat API with a history that decides the fate of each post, and knows which sender called.
 */
export type KillingProvider = {
  posts: readonly Post[];
  /** The receipts of the messages that were updated. */
  updates: ReadonlySet<string>;
  /** Decides the fate of the next posts. Later ones are accepted. */
  decide(...fates: readonly Fate[]): void;
  /** The URL of the API for a sender of this name. */
  addressFor(sender: string): string;
  close(): Promise<void>;
};

const Call = z.object({
  text: z.string().optional(),
  ts: z.string().optional(),
  metadata: z.object({}).loose().optional(),
});

/** Starts the provider. `kill` stops the sender of a name at once. */
export async function startKillingProvider(kill: (sender: string) => void): Promise<KillingProvider> {
  const posts: Post[] = [];
  const updates = new Set<string>();
  const history: { ts: string; metadata: object | undefined }[] = [];
  const queue: Fate[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, sender = '', method] = request.url?.split('/') ?? [];
    const body = await text(request);
    const reply = (body: object) => {
      response.setHeader('Content-Type', 'application/json');
      return new Promise<void>((resolve) => response.end(JSON.stringify(body), resolve));
    };
    if (method === 'conversations.open') return reply({ ok: true, channel: { id: 'D1' } });
    if (method === 'conversations.history') return reply({ ok: true, messages: history });
    const call = Call.parse(JSON.parse(body));
    if (method === 'chat.update') {
      updates.add(call.ts ?? '');
      return reply({ ok: true });
    }
    const fate = queue.shift() ?? 'ok';
    const isAccepted = fate === 'ok' || isLossy(fate);
    const title = /task-\d+/.exec(call.text ?? '')?.[0] ?? '';
    posts.push({ title, fate, isAccepted });
    const ts = `1700000000.${String(posts.length).padStart(6, '0')}`;
    if (isAccepted) history.push({ ts, metadata: call.metadata });
    const accepted = { ok: true, channel: 'D1', ts };
    switch (fate) {
      case 'ok':
        return reply(accepted);
      case 'unavailable':
        return reply({ ok: false, error: 'internal_error' });
      case 'message_rejected':
        return reply({ ok: false, error: 'msg_too_long' });
      case 'no_reply':
        response.destroy();
        return;
      case 'killed_before':
      case 'killed_after_receipt':
        kill(sender);
        response.destroy();
        return;
      case 'killed_after_reply':
        await reply(accepted);
        kill(sender);
    }
  }

  const server = createServer((request, response) => {
    // A killed sender breaks its connection while the request is read.
    serve(request, response).catch(() => response.destroy());
  });
  const { url, close } = await startServer(server);
  return {
    posts,
    updates,
    decide: (...fates) => void queue.push(...fates),
    addressFor: (sender) => `${url}/${sender}`,
    close,
  };
}
