import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { MessageShape, type Modal, ModalShape } from './block-kit.ts';
import { startServer } from './servers.ts';

const Parameters = z.looseObject({
  channel: z.string().optional(),
  users: z.string().optional(),
  ts: z.string().optional(),
  text: z.string().optional(),
  metadata: z.looseObject({}).optional(),
  cursor: z.string().optional(),
  oldest: z.string().optional(),
  user: z.string().optional(),
  trigger_id: z.string().optional(),
  blocks: z.array(z.looseObject({})).optional(),
  view: z.unknown().optional(),
});

/** A call that the chat API received, of a method such as `chat.postMessage`. */
type ChatCall = {
  path: string;
  method: string;
  headers: IncomingMessage['headers'];
  parameters: z.output<typeof Parameters>;
};

/** A posted message, the texts that replaced its text, and its blocks as they are now. */
export type ChatMessage = {
  memberId: string;
  channel: string;
  ts: string;
  text: string;
  metadata: object | undefined;
  updates: string[];
  blocks: object[];
};

/** The workspace of the token. */
export const TEAM = 'T0TEAM';

/** How long a trigger of an interaction opens a modal. */
const TRIGGER_MS = 3000;

/** A page of the history, shorter than Slack's, so that tests can fill several. */
const PAGE_LENGTH = 2;

/** The scopes that a method needs besides `chat:write`. */
const neededScopes: Readonly<Record<string, string>> = {
  'conversations.open': 'im:write',
  'conversations.history': 'im:history',
};

/** How the chat API replies to a call. */
export type ChatAnswer =
  /** Executes the call. */
  | 'ok'
  /** Executes the call and closes the connection without a reply. */
  | 'no reply'
  /** Executes the call and closes the connection in the middle of the reply. */
  | 'cut reply'
  /** Refuses the call with an error code. */
  | { error: string; status?: number; headers?: Record<string, string> }
  /** Sends this reply. */
  | { status: number; body: string; headers?: Record<string, string> };

const refuse = (error: string, details: object = {}) => ({ ok: false, error, ...details });

export type ChatApi = Awaited<ReturnType<typeof startChatApi>>;

/** Starts a chat API over HTTP on loopback, like the part of Slack's Web API that the gateway uses. */
export async function startChatApi(port = 0) {
  const token = 'chat-token';
  const calls: ChatCall[] = [];
  const messages: ChatMessage[] = [];
  const queue: ChatAnswer[] = [];
  const waiting: ((call: ChatCall) => void)[] = [];
  const granted = new Set<string>();
  const ephemerals: { channel: string; user: string; text: string; blocks: object[] }[] = [];
  const modals: Modal[] = [];
  const triggers = new Map<string, number>();
  let choose: (call: ChatCall) => ChatAnswer = () => 'ok';
  let held: Promise<void> | undefined;

  function execute({ method, headers, parameters }: ChatCall): object {
    if (headers.authorization !== `Bearer ${token}`) return refuse('invalid_auth');
    const needed = neededScopes[method];
    if (needed !== undefined && !granted.has(needed)) return refuse('missing_scope', { needed });
    return methods[method]?.(parameters) ?? refuse('unknown_method');
  }

  const methods: Readonly<Record<string, (parameters: ChatCall['parameters']) => object>> = {
    'auth.test': () => ({ ok: true, user_id: 'U0GATEWAY', team_id: TEAM }),
    'conversations.open'({ users }) {
      const message = messages.find(({ memberId }) => memberId === users);
      return message ? { ok: true, channel: { id: message.channel } } : refuse('channel_not_found');
    },
    'conversations.history': listMessages,
    'chat.postEphemeral'({ channel = '', user = '', text = '', blocks = [] }) {
      const { error } = MessageShape.safeParse(blocks);
      if (error) return refuse('invalid_blocks', { problem: z.prettifyError(error) });
      ephemerals.push({ channel, user, text, blocks });
      return { ok: true, message_ts: '1.1' };
    },
    'views.open'({ trigger_id = '', view }) {
      const age = performance.now() - (triggers.get(trigger_id) ?? Number.NEGATIVE_INFINITY);
      if (!triggers.delete(trigger_id)) return refuse('exchanged_trigger_id');
      if (age > TRIGGER_MS) return refuse('expired_trigger_id');
      const { data, error } = ModalShape.safeParse(view);
      if (error) return refuse('invalid_arguments', { problem: z.prettifyError(error) });
      modals.push(data);
      return { ok: true, view };
    },
    'chat.update'({ channel, ts, text = '', blocks = [] }) {
      const message = messages.find((message) => message.channel === channel && message.ts === ts);
      if (message === undefined) return refuse('message_not_found');
      message.updates.push(text);
      message.blocks = blocks;
      return { ok: true, channel, ts, text };
    },
    'chat.postMessage'({ channel: memberId = '', text = '', metadata, blocks = [] }) {
      if (text === '') return refuse('no_text');
      const { error } = MessageShape.safeParse(blocks);
      if (error) return refuse('invalid_blocks', { problem: z.prettifyError(error) });
      // Slack dates messages by its clock, and their timestamps are unique.
      const ts = `${Math.floor(Date.now() / 1000)}.${String(messages.length).padStart(6, '0')}`;
      const channel = `D${memberId}`;
      messages.push({ memberId, channel, ts, text, metadata, updates: [], blocks });
      return { ok: true, channel, ts, message: { text } };
    },
  };

  /** Lists a page of the messages of a channel, newest first. Metadata is returned only on request. */
  function listMessages({ channel, oldest, cursor, include_all_metadata }: ChatCall['parameters']) {
    const newest = messages
      .filter((message) => message.channel === channel && Number(message.ts) > Number(oldest ?? 0))
      .reverse();
    const start = Number(cursor || 0);
    const next = start + PAGE_LENGTH;
    return {
      ok: true,
      messages: newest.slice(start, next).map(({ ts, text, metadata }) => {
        const shown = include_all_metadata === 'true' && metadata && { metadata };
        return { type: 'message', ts, text, ...shown };
      }),
      response_metadata: { next_cursor: next < newest.length ? String(next) : '' },
    };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const method = path.split('/').at(-1) ?? '';
    const body = await text(request);
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded');
    const parameters = Parameters.parse(
      isForm ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body),
    );
    const call = { path, method, headers: request.headers, parameters };
    calls.push(call);
    for (const notify of waiting.splice(0)) notify(call);
    await held;
    const answer = (method.startsWith('conversations.') ? undefined : queue.shift()) ?? choose(call);
    if (answer === 'no reply') {
      execute(call);
      response.destroy();
    } else if (answer === 'cut reply') {
      const reply = JSON.stringify(execute(call));
      response.writeHead(200, { 'Content-Length': reply.length });
      response.write(reply.slice(0, reply.length / 2), () => response.destroy());
    } else if (answer !== 'ok' && 'body' in answer) {
      response.writeHead(answer.status, answer.headers).end(answer.body);
    } else {
      const { error = '', status = 200, headers = {} } = answer === 'ok' ? {} : answer;
      response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', ...headers });
      response.end(JSON.stringify(answer === 'ok' ? execute(call) : refuse(error)));
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(new Error(String(error))));
  });
  const { url, close } = await startServer(server, port);

  return {
    /** For `CHAT_API_URL`. */
    url,
    /** For `CHAT_TOKEN`. Calls with another token are refused. */
    token,
    calls,
    messages,
    /** Texts that only one member sees. */
    ephemerals,
    /** The modals that were opened. */
    modals,
    /** Returns the ID of a trigger, which can be used once, at once. */
    createTrigger() {
      const id = `trigger-${triggers.size}-${performance.now()}`;
      triggers.set(id, performance.now());
      return id;
    },
    /** Grants scopes to the token, which has `chat:write` at first. */
    grant(...scopes: readonly string[]) {
      for (const scope of scopes) granted.add(scope);
    },
    /** Answers the next calls, except searches, in this order. {@link setAnswer} sets the answer to all others. */
    answer: (...answers: readonly ChatAnswer[]) => void queue.push(...answers),
    /** Sets the answer to all calls, `ok` at first. A function chooses it for each call. */
    setAnswer(answer: ChatAnswer | ((call: ChatCall) => ChatAnswer)) {
      choose = typeof answer === 'function' ? answer : () => answer;
    },
    /** Resolves to the next call when it is received, before it is answered. */
    nextCall: () => new Promise<ChatCall>((resolve) => waiting.push(resolve)),
    /** Delays all answers until the returned function is called. */
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
    close,
  };
}
