import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { findBlocksProblem, findModalProblem, type Modal, ModalShape } from './block-kit.ts';
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

/** A call that the chat API received. */
export type ChatCall = {
  /** `chat.postMessage`, `chat.update`, `auth.test`, `conversations.open` or `conversations.history`. */
  method: string;
  headers: IncomingMessage['headers'];
  parameters: z.output<typeof Parameters>;
};

/** A posted message, and the texts that replaced its text. */
export type ChatMessage = {
  memberId: string;
  channel: string;
  ts: string;
  text: string;
  metadata: object | undefined;
  updates: string[];
  /** Those of the message as it is now. */
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

/** A chat API over HTTP on loopback, like the part of Slack's Web API that the gateway uses. */
export type ChatApi = {
  /** For `CHAT_API_URL`. */
  url: string;
  /** For `CHAT_TOKEN`. Calls with another token are refused. */
  token: string;
  calls: readonly ChatCall[];
  messages: readonly ChatMessage[];
  /** Texts that only one member sees. */
  ephemerals: readonly { channel: string; user: string; text: string }[];
  /** The modals that were opened. */
  modals: readonly Modal[];
  /** Returns the ID of a trigger, which can be used once, at once. */
  createTrigger(): string;
  /** Grants scopes to the token, which has `chat:write` at first. */
  grant(...scopes: readonly string[]): void;
  /**
   * Answers the next calls, except searches, in this order. Further calls, and searches, are answered as
   * {@link ChatApi.setAnswer} says.
   */
  answer(...answers: readonly ChatAnswer[]): void;
  /** Sets the answer to all calls, `ok` at first. A function chooses it for each call. */
  setAnswer(answer: ChatAnswer | ((call: ChatCall) => ChatAnswer)): void;
  /** Resolves to the next call when it is received, before it is answered. */
  nextCall(): Promise<ChatCall>;
  /** Delays all answers until the returned function is called. */
  hold(): () => void;
  close(): Promise<void>;
};

/** Starts a chat API, by default on a free port. */
export async function startChatApi(port = 0): Promise<ChatApi> {
  const token = 'chat-token';
  const calls: ChatCall[] = [];
  const messages: ChatMessage[] = [];
  const queue: ChatAnswer[] = [];
  const waiting: ((call: ChatCall) => void)[] = [];
  const granted = new Set<string>();
  const ephemerals: { channel: string; user: string; text: string }[] = [];
  const modals: Modal[] = [];
  const triggers = new Map<string, number>();
  let choose: (call: ChatCall) => ChatAnswer = () => 'ok';
  let held: Promise<void> | undefined;

  function execute({ method, headers, parameters }: ChatCall): object {
    const { channel = '', ts = '', text = '' } = parameters;
    if (headers.authorization !== `Bearer ${token}`) return { ok: false, error: 'invalid_auth' };
    const scope = neededScopes[method];
    if (scope !== undefined && !granted.has(scope))
      return { ok: false, error: 'missing_scope', needed: scope };
    if (method === 'conversations.open') {
      const { memberId, channel } = messages.find(({ memberId }) => memberId === parameters.users) ?? {};
      return memberId === undefined
        ? { ok: false, error: 'channel_not_found' }
        : { ok: true, channel: { id: channel } };
    }
    if (method === 'conversations.history') return listMessages(parameters);
    if (method === 'auth.test') return { ok: true, user_id: 'U0GATEWAY', team_id: TEAM };
    if (method === 'chat.postEphemeral') {
      ephemerals.push({ channel, user: parameters.user ?? '', text });
      return { ok: true, message_ts: '1.1' };
    }
    if (method === 'views.open') {
      const { trigger_id = '', view } = parameters;
      const age = performance.now() - (triggers.get(trigger_id) ?? Number.NEGATIVE_INFINITY);
      if (!triggers.delete(trigger_id)) return { ok: false, error: 'exchanged_trigger_id' };
      if (age > TRIGGER_MS) return { ok: false, error: 'expired_trigger_id' };
      const problem = findModalProblem(view);
      if (problem !== undefined) return { ok: false, error: 'invalid_arguments', problem };
      modals.push(ModalShape.parse(view));
      return { ok: true, view };
    }
    if (method === 'chat.update') {
      const message = messages.find((message) => message.channel === channel && message.ts === ts);
      if (message) {
        message.updates.push(text);
        message.blocks = parameters.blocks ?? [];
      }
      return message ? { ok: true, channel, ts, text } : { ok: false, error: 'message_not_found' };
    }
    if (method !== 'chat.postMessage') return { ok: false, error: 'unknown_method' };
    if (text === '') return { ok: false, error: 'no_text' };
    const problem = findBlocksProblem(parameters.blocks ?? [], 50);
    if (problem !== undefined) return { ok: false, error: 'invalid_blocks', problem };
    // Slack dates messages by its clock, and their timestamps are unique.
    const seconds = Math.floor(Date.now() / 1000);
    const posted = { channel: `D${channel}`, ts: `${seconds}.${String(messages.length).padStart(6, '0')}` };
    messages.push({
      memberId: channel,
      ...posted,
      text,
      metadata: parameters.metadata,
      updates: [],
      blocks: parameters.blocks ?? [],
    });
    return { ok: true, ...posted, message: { text } };
  }

  /** Lists a page of the messages of a channel, newest first. Metadata is returned only on request. */
  function listMessages({
    channel,
    oldest = '0',
    cursor,
    include_all_metadata,
  }: ChatCall['parameters']): object {
    const newest = messages
      .filter((message) => message.channel === channel && Number(message.ts) > Number(oldest))
      .reverse();
    const start = Number(cursor || 0);
    const page = newest.slice(start, start + PAGE_LENGTH);
    const next = start + PAGE_LENGTH;
    return {
      ok: true,
      messages: page.map(({ ts, text, metadata }) => ({
        type: 'message',
        ts,
        text,
        ...(include_all_metadata === 'true' && metadata !== undefined && { metadata }),
      })),
      response_metadata: { next_cursor: next < newest.length ? String(next) : '' },
    };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.url?.split('/').at(-1) ?? '';
    const body = await text(request);
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded');
    const parameters = Parameters.parse(
      isForm ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body),
    );
    const call = { method, headers: request.headers, parameters };
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
    } else if (answer === 'ok') {
      sendJson(response, 200, execute(call));
    } else if ('error' in answer) {
      sendJson(response, answer.status ?? 200, { ok: false, error: answer.error }, answer.headers);
    } else {
      response.writeHead(answer.status, answer.headers).end(answer.body);
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(new Error(String(error))));
  });
  const { url, close } = await startServer(server, port);

  return {
    url,
    token,
    calls,
    messages,
    ephemerals,
    modals,
    createTrigger() {
      const id = `trigger-${triggers.size}-${performance.now()}`;
      triggers.set(id, performance.now());
      return id;
    },
    grant(...scopes) {
      for (const scope of scopes) granted.add(scope);
    },
    answer: (...answers) => void queue.push(...answers),
    setAnswer(answer) {
      choose = typeof answer === 'function' ? answer : () => answer;
    },
    nextCall: () => new Promise((resolve) => waiting.push(resolve)),
    hold() {
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

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}
