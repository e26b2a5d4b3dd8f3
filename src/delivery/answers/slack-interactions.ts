import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';
import { z } from 'zod';
import type { ChatConfig } from '../../config.ts';
import type { RequestRecord } from '../../context.ts';
import { BadRequestError, NotFoundError, UnauthenticatedError } from '../../errors/gateway-errors.ts';
import { lazy } from '../../values/lazy.ts';
import { Secret } from '../../values/secret.ts';
import { callApi, classifyReply, formatReceipt, parseReply } from '../chat/chat-api.ts';
import { Bound, createModal, createNotice, isAnswer } from '../chat/chat-blocks.ts';
import { describeSettled, escapeControls } from '../chat/chat-text.ts';
import { findContact } from '../contacts.ts';
import { Delivery } from '../delivery.entity.ts';
import { fieldsOf, parseForm } from './answer-form.ts';
import { textsIn } from './answer-texts.ts';
import {
  type AnsweringContext,
  attempt,
  explain,
  findAsked,
  giveAnswer,
  type LoggedResponse,
} from './give-answer.ts';

/** The path to which Slack sends what members do with buttons and modals. */
export const INTERACTIONS_PATH = '/slack/interactions';

/** How old a signature may be, in seconds. */
const MAX_AGE_SECONDS = 300;

/** How long Slack waits for the reply to an interaction, in milliseconds. */
const PATIENCE_MS = 3000;

/** An interaction repeats its message or modal. Those that are being received share the second limit. */
const limits = { caller: '\nslack', maxBytes: 524_288, maxCallerBytes: 8_388_608, allowsCompression: false };

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

const Team = z.object({ team_id: z.string() });

const texts = textsIn('en');

/**
 * Creates the receiver of interactions. It accepts those of the token's workspace, by the member of the user whom the message
 * was sent to, while that message is the delivered one of a request that has not been replaced.
 */
export function createSlackInteractions(chat: ChatConfig, secret: Secret, context: AnsweringContext) {
  const call = (method: string, parameters: object, signal = AbortSignal.timeout(10_000)) =>
    callApi(chat, method, parameters, signal);

  const findTeam = lazy(async () => {
    const reply = await call('auth.test', {});
    return Team.parse(JSON.parse(reply.kind === 'reply' ? reply.body : '{}')).team_id;
  });
  findTeam().catch(() => undefined);

  /** Opens a modal, or answers and returns how the request is settled. */
  const handle = async (payload: Payload, bound: Bound, record: RequestRecord, signal: AbortSignal) => {
    const { user, team, trigger_id, actions, view } = payload;
    const { userId, id: notificationId, requestHash, place } = bound;
    const key = { userId, notificationId, channel: 'chat', target: '' } as const;
    const [asked, contact, delivery, ownTeam] = await Promise.all([
      findAsked(context.database, userId, notificationId),
      findContact(context.database, userId),
      context.database.fork().findOne(Delivery, key),
      findTeam(),
    ]);
    const isBound = asked?.requestHash === requestHash && place && delivery?.receipt === formatReceipt(place);
    if (!isBound || contact?.chatMemberId !== user.id || team.id !== ownTeam) throw new NotFoundError();
    if (actions && !isAnswer(actions[0].action_id)) {
      const modal = createModal(asked.notification, JSON.stringify(bound));
      const opened = await call('views.open', { trigger_id, view: modal }, signal);
      if (classifyReply(opened, Date.now()).kind !== 'delivered')
        throw new Error('The modal was not opened.');
      return undefined;
    }
    const given = parseForm(asked.notification, fillIn(bound, view));
    const surface = { via: 'chat', person: user.id } as const;
    const { isOwn, notification } = await giveAnswer(context, record, asked, given, surface, signal);
    return `${isOwn ? '' : `${texts('settled')}. ${texts('unstored')} `}${describeSettled(notification)}`;
  };

  return async (request: IncomingMessage, response: LoggedResponse): Promise<void> => {
    const { record } = response.locals;
    const body = new URLSearchParams(await readSigned(request, secret, context));
    const payload = parse(Payload, body.get('payload'));
    const { actions, container, view, user } = payload;
    const source = view?.private_metadata ?? actions?.[0].value;
    // A link was opened.
    if (source === undefined) return void response.writeHead(200).end();
    const place = container && { channel: container.channel_id, ts: container.message_ts };
    const bound = { ...parse(Bound, source), ...(place && { place }) };
    record.user = bound.userId;
    let problem: string | undefined;
    const result = await attempt(context, bound.userId, (signal) =>
      handle(payload, bound, record, signal),
    ).catch((error: unknown) => {
      problem = `${texts('unstored')} ${texts(`${explain(error, record)[1]}_text`)}`;
      return problem;
    });
    const notice = createNotice(result ?? '');
    // After a problem, a modal stays open with its entries.
    const shown = problem
      ? { response_action: 'errors', errors: { [fieldsOf(0).text]: problem } }
      : { response_action: 'update', view: notice };
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(view ? JSON.stringify(shown) : '');
    if (result === undefined || place === undefined) return;
    // Only this member sees it. The blocks are plain text; where none are shown, the text is.
    const message = { text: escapeControls(result), blocks: notice.blocks };
    await call('chat.postEphemeral', { channel: place.channel, user: user.id, ...message });
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
 * Reads a body that Slack has signed (Slack, "Verifying requests from Slack"). What cannot be signed is refused before it is
 * read, and what arrives when Slack no longer waits is not read: it would only keep other bodies out.
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
  if (!/^v0=[0-9a-f]{64}$/.test(String(signature)))
    throw UnauthenticatedError.invalidToken('malformed Slack signature');
  addAbortSignal(AbortSignal.timeout(PATIENCE_MS), request);
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
