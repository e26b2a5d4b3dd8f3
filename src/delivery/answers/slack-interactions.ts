import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { ChatConfig } from '../../config.ts';
import type { RequestRecord } from '../../context.ts';
import {
  BadRequestError,
  NotFoundError,
  UnauthenticatedError,
  ValidationError,
} from '../../errors/gateway-errors.ts';
import { lazy } from '../../values/lazy.ts';
import { Secret } from '../../values/secret.ts';
import { callApi, classifyReply, formatReceipt, parseReply } from '../chat/chat-api.ts';
import { Bound, createModal, createNotice, isAnswer } from '../chat/chat-blocks.ts';
import { describeSettled, escapeControls } from '../chat/chat-text.ts';
import { Delivery } from '../delivery.entity.ts';
import { fieldsOf, parseForm } from './answer-form.ts';
import {
  type AnsweringContext,
  chargeUser,
  findAsked,
  giveAnswer,
  type LoggedResponse,
  logFailure,
  whilePatient,
} from './give-answer.ts';

/** The path to which Slack sends what members do with buttons and modals. */
export const INTERACTIONS_PATH = '/slack/interactions';

/** How old a signature may be, in seconds. */
const MAX_AGE_SECONDS = 300;

/** An interaction repeats its message or modal. Those that are being received share the second limit. */
const limits = {
  caller: '\nslack',
  maxBytes: 524_288,
  maxCallerBytes: 8 * 1_048_576,
  allowsCompression: false,
};

const Named = z.object({ id: z.string() });
const Chosen = z.object({ value: z.string() });
const Input = z.object({
  value: z.string().nullish(),
  selected_option: Chosen.nullish(),
  selected_options: z.array(Chosen).nullish(),
});

/** A click on a button of a message, or a modal that was sent (Slack, "Interaction payloads"). */
const Payload = z.object({
  user: Named,
  team: Named,
  trigger_id: z.string().optional(),
  container: z.object({ channel_id: z.string(), message_ts: z.string() }).optional(),
  actions: z.tuple([z.object({ action_id: z.string(), value: z.string().optional() })]).optional(),
  view: z
    .object({
      private_metadata: z.string(),
      state: z.object({ values: z.record(z.string(), z.record(z.string(), Input)) }),
    })
    .optional(),
});
type Payload = z.output<typeof Payload>;

/** What the member is told. Unless it is final, a modal stays open with its entries. */
type Reply = { text: string; isFinal?: boolean };

const TRY_AGAIN: Reply = { text: 'Not stored. Please try again.' };
const OUTDATED: Reply = { text: 'Not stored: this message is out of date. Please answer in the app.' };
const INCOMPLETE: Reply = {
  text: 'Not stored: choose as described or write your own answer; if only one choice is allowed, not both.',
};

/**
 * Creates the receiver of interactions. It accepts those of the token's workspace, by the member of the user whom the message
 * was sent to, while that message is the delivered one of a request that has not been replaced.
 */
export function createSlackInteractions(chat: ChatConfig, secret: Secret, context: AnsweringContext) {
  const call = (method: string, parameters: object, signal = AbortSignal.timeout(10_000)) =>
    callApi(chat, method, parameters, signal);

  const findTeam = lazy(async () => {
    const reply = await call('auth.test', {});
    const body =
      reply.kind === 'reply' ? parseReply(reply.body, z.object({ team_id: z.string() })) : undefined;
    if (body === undefined) throw new Error('The chat API did not say which team the token is of.');
    return body.team_id;
  });
  findTeam().catch(() => undefined);

  const handle = async (
    payload: Payload,
    bound: Bound,
    record: RequestRecord,
    signal: AbortSignal,
  ): Promise<Reply | undefined> => {
    const { user, team, trigger_id, actions, view } = payload;
    const { userId, id: notificationId, requestHash, place } = bound;
    const key = { userId, notificationId, channel: 'chat', target: '' } as const;
    const [asked, delivery, ownTeam] = await Promise.all([
      findAsked(context.database, userId, notificationId),
      context.database.fork().findOne(Delivery, key),
      findTeam(),
    ]);
    const isBound = asked?.requestHash === requestHash && place && delivery?.receipt === formatReceipt(place);
    if (!isBound || asked.contact?.chatMemberId !== user.id || team.id !== ownTeam) return OUTDATED;
    if (actions && !isAnswer(actions[0].action_id)) {
      const modal = createModal(asked.notification, JSON.stringify(bound));
      const opened = await call('views.open', { trigger_id, view: modal }, signal);
      return modal && classifyReply(opened, Date.now()).kind === 'delivered' ? undefined : TRY_AGAIN;
    }
    const given = parseForm(asked.notification, fillIn(bound, view));
    if (given === undefined) return INCOMPLETE;
    const result = await giveAnswer(context, record, asked, given, { via: 'chat', person: user.id }, signal);
    const settled = describeSettled(result.notification);
    return {
      text: result.isOwn ? settled : `Not stored: this was settled before. ${settled}`,
      isFinal: true,
    };
  };

  return async (request: IncomingMessage, response: LoggedResponse): Promise<void> => {
    const { record } = response.locals;
    const payload = parse(
      Payload,
      new URLSearchParams(await readSigned(request, secret, context)).get('payload'),
    );
    const { actions, container, view, user } = payload;
    const source = view?.private_metadata ?? actions?.[0].value;
    // A link was opened.
    if (source === undefined) return void response.writeHead(200).end();
    const bound = {
      ...parse(Bound, source),
      ...(container && { place: { channel: container.channel_id, ts: container.message_ts } }),
    };
    record.user = bound.userId;
    const attempt = async () => {
      await chargeUser(context, bound.userId);
      return whilePatient((signal) => handle(payload, bound, record, signal));
    };
    const reply = await attempt().catch((error: unknown) => {
      if (error instanceof ValidationError) return INCOMPLETE;
      if (error instanceof NotFoundError) return OUTDATED;
      logFailure(error, record);
      return TRY_AGAIN;
    });
    const errors = { [fieldsOf(0).text]: reply?.text };
    const shown = reply?.isFinal
      ? { response_action: 'update', view: createNotice(reply.text) }
      : { response_action: 'errors', errors };
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(view ? JSON.stringify(shown) : '');
    // Only this member sees it.
    if (container && reply) {
      const text = escapeControls(reply.text);
      await call('chat.postEphemeral', { channel: container.channel_id, user: user.id, text });
    }
  };
}

/** Returns the fields of the form that a button and the entries of a modal fill in. */
function fillIn({ form }: Bound, view: Payload['view']): URLSearchParams {
  const fields = new URLSearchParams(form);
  for (const [name, inputs] of Object.entries(view?.state.values ?? {}))
    for (const { value, selected_option: one, selected_options: several } of Object.values(inputs))
      for (const entry of [value, one?.value, ...(several ?? []).map((chosen) => chosen.value)])
        if (entry) fields.append(name, entry);
  return fields;
}

/**
 * Reads a body that Slack has signed (Slack, "Verifying requests from Slack").
 * @throws {UnauthenticatedError} if it has not, or more than five minutes ago
 */
async function readSigned(
  request: IncomingMessage,
  secret: Secret,
  { readBody }: AnsweringContext,
): Promise<string> {
  const { 'x-slack-request-timestamp': time = '', 'x-slack-signature': signature = '' } = request.headers;
  const age = Math.abs(Date.now() / 1000 - Number(time));
  if (!/^\d{1,12}$/.test(String(time)) || age > MAX_AGE_SECONDS)
    throw UnauthenticatedError.invalidToken('old Slack request');
  const body = await readBody(request, limits);
  const expected = createHmac('sha256', secret.reveal()).update(`v0:${time}:`).update(body).digest('hex');
  if (!new Secret(`v0=${expected}`).matches(String(signature)))
    throw UnauthenticatedError.invalidToken('wrong Slack signature');
  return body.toString();
}

function parse<Shape extends z.ZodType>(shape: Shape, text: string | null): z.output<Shape> {
  const parsed = parseReply(text ?? '', shape);
  if (parsed === undefined)
    throw new BadRequestError('The body is not an interaction with a message of the gateway.');
  return parsed;
}
