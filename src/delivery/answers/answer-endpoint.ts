import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import type { Config } from '../../config.ts';
import type { RequestRecord } from '../../context.ts';
import type { AnswerLink } from '../../encryption/bound-cipher.ts';
import {
  BadRequestError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
} from '../../errors/gateway-errors.ts';
import { applyPatch, expire, toState } from '../../notifications/lifecycle.ts';
import type { Notification } from '../../notifications/notification.entity.ts';
import { toTime } from '../../values/time.ts';
import { linkTo } from '../message.ts';
import { parseForm } from './answer-form.ts';
import type { AnswerLinks } from './answer-link.ts';
import { type AnswerPage, renderForm, renderNotice, renderSettled, sendAnswerPage } from './answer-page.ts';
import { languages, type Texts, textsIn } from './answer-texts.ts';
import {
  type AnsweringContext,
  type Asked,
  chargeUser,
  findAsked,
  giveAnswer,
  type LoggedResponse,
  logFailure,
  whilePatient,
} from './give-answer.ts';

const MAX_BODY_BYTES = 128 * 1024;

/**
 * Creates the handlers of the links in mails about requests. The token in the path, which is as sent, is the only credential.
 * `show` changes nothing, because mail programs and filters open links.
 */
export function createAnswerEndpoint(
  links: AnswerLinks,
  context: AnsweringContext,
  { publicUrl, delivery: { appUrl } }: Config,
) {
  const origin = publicUrl && new URL(publicUrl).origin;

  /** Reads the form, before the database is asked. */
  const readForm = async (request: IncomingMessage, { userId }: AnswerLink): Promise<URLSearchParams> => {
    const { origin: sender, 'content-type': type = '' } = request.headers;
    const isForm = /^application\/x-www-form-urlencoded(;|$)/i.test(type);
    if (sender !== origin || !isForm) throw new BadRequestError('The body is not a form of the page.');
    const limits = { caller: userId, maxBytes: MAX_BODY_BYTES, maxCallerBytes: 8 * MAX_BODY_BYTES };
    const body = await context.readBody(request, { ...limits, allowsCompression: false });
    return new URLSearchParams(body.toString());
  };

  const answer = async (
    texts: Texts,
    record: RequestRecord,
    { asked, form }: { asked: Asked; form: URLSearchParams },
    signal: AbortSignal,
  ): Promise<AnswerPage> => {
    const { notification } = asked;
    const given = parseForm(notification, form);
    if (given === undefined) return renderForm(texts, notification, { form, isIncomplete: () => true });
    try {
      const surface = { via: 'email', person: notification.userId } as const;
      const result = await giveAnswer(context, record, asked, given, surface, signal);
      return renderSettled(texts, result.notification, result.isOwn);
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      // The answers to questions are in their order.
      const isIncomplete = (question: number) =>
        error.issues.some(({ path: [member, index] }) => member !== 'questions' || index === question);
      return renderForm(texts, notification, { form, isIncomplete });
    }
  };

  const respond =
    (isSent: boolean) =>
    async (request: IncomingMessage & { readonly path: string }, response: LoggedResponse): Promise<void> => {
      const { record } = response.locals;
      const texts = textsIn(new Negotiator(request).language(languages) ?? '');
      const link = links.areOn ? await links.read(request.path.split('/').at(-1) ?? '') : undefined;
      record.user = link?.userId;
      const reply = async (): Promise<AnswerPage> => {
        if (link === undefined) throw new NotFoundError();
        await chargeUser(context, link.userId);
        const form = isSent ? await readForm(request, link) : undefined;
        return whilePatient(async (signal) => {
          const asked = await findAsked(context.database, link.userId, link.id);
          if (asked === undefined || !links.isValid(link, asked)) throw new NotFoundError();
          if (form !== undefined) return answer(texts, record, { asked, form }, signal);
          const current = settleIfDue(asked.notification);
          return (current.requestState === 'open' ? renderForm : renderSettled)(texts, current);
        });
      };
      const page = await reply().catch((error: unknown) => renderFailure(texts, error, record));
      sendAnswerPage(response, texts, page, appUrl && link ? linkTo(appUrl, link.id) : null);
    };

  return { show: respond(false), accept: respond(true) };
}

/** Returns a request as it is once its expiry is stored, if that is due by this process's clock. */
function settleIfDue(notification: Notification): Notification {
  const step = expire(toState(notification), { at: toTime(new Date()), revision: notification.revision });
  return applyPatch(notification, step?.patch);
}

function renderFailure(texts: Texts, error: unknown, record: RequestRecord): AnswerPage {
  const notice = (status: number, name: 'invalid' | 'unreadable' | 'busy' | 'failed') =>
    renderNotice(status, texts(name), texts(`${name}_text`));
  if (error instanceof NotFoundError) return notice(404, 'invalid');
  if (error instanceof BadRequestError) return notice(400, 'unreadable');
  if (error instanceof RateLimitedError) return notice(429, 'busy');
  logFailure(error, record);
  return notice(503, 'failed');
}
