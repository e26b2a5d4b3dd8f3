import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import type { Config } from '../../config.ts';
import type { RequestRecord } from '../../context.ts';
import type { AnswerLink } from '../../encryption/bound-cipher.ts';
import { BadRequestError, NotFoundError, ValidationError } from '../../errors/gateway-errors.ts';
import { applyPatch, expire, toState } from '../../notifications/lifecycle.ts';
import type { Notification } from '../../notifications/notification.entity.ts';
import { html } from '../../pages/html.ts';
import { type PlainPage, sendPlainPage } from '../../pages/plain-page.ts';
import { toTime } from '../../values/time.ts';
import { findContact } from '../contacts.ts';
import { linkTo } from '../message.ts';
import { parseForm } from './answer-form.ts';
import type { AnswerLinks } from './answer-link.ts';
import { renderForm, renderSettled } from './answer-page.ts';
import { languages, type Texts, textsIn } from './answer-texts.ts';
import {
  type AnsweringContext,
  type Asked,
  attempt,
  explain,
  findAsked,
  giveAnswer,
  type LoggedResponse,
} from './give-answer.ts';

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
    const limits = { caller: userId, maxBytes: 131_072, maxCallerBytes: 1_048_576, allowsCompression: false };
    const body = await context.readBody(request, limits);
    return new URLSearchParams(body.toString());
  };

  const answer = async (
    texts: Texts,
    record: RequestRecord,
    { asked, form }: { asked: Asked; form: URLSearchParams },
    signal: AbortSignal,
  ): Promise<PlainPage> => {
    const { notification } = asked;
    try {
      const surface = { via: 'email', person: notification.userId } as const;
      const given = parseForm(notification, form);
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
      const reply = async (): Promise<PlainPage> => {
        if (link === undefined) throw new NotFoundError();
        const form = isSent ? await readForm(request, link) : undefined;
        return attempt(context, link.userId, async (signal) => {
          const [asked, contact] = await Promise.all([
            findAsked(context.database, link.userId, link.id),
            findContact(context.database, link.userId),
          ]);
          if (!asked || !contact || !links.isValid(link, asked, contact)) throw new NotFoundError();
          if (form !== undefined) return answer(texts, record, { asked, form }, signal);
          const current = settleIfDue(asked.notification);
          return (current.requestState === 'open' ? renderForm : renderSettled)(texts, current);
        });
      };
      const page = await reply().catch((error: unknown) => {
        const [status, name] = explain(error, record);
        const title = texts(name);
        return { status, title, content: html`<h1>${title}</h1><p>${texts(`${name}_text`)}</p>` };
      });
      const url = appUrl && link && linkTo(appUrl, link.id);
      const content = html`${page.content}${url && html`<p><a href="${url}" rel="noreferrer">${texts('open')}</a></p>`}`;
      sendPlainPage(response, texts('language'), { ...page, content });
    };

  return { show: respond(false), accept: respond(true) };
}

/** Returns a request as it is once its expiry is stored, if that is due by this process's clock. */
function settleIfDue(notification: Notification): Notification {
  const step = expire(toState(notification), { at: toTime(new Date()), revision: notification.revision });
  return applyPatch(notification, step?.patch);
}
