import type { ServerResponse } from 'node:http';
import type { CancelDependencies } from '../../database/outbox.ts';
import { sendPage } from '../../pages/page.ts';
import { toTime } from '../../values/time.ts';
import { isKnownUser, unsubscribe } from './unsubscribe.ts';
import { invalidLinkPage, renderConfirmation, renderQuestion } from './unsubscribe-pages.ts';
import type { EmailTopic, UnsubscribeTokens } from './unsubscribe-token.ts';

/** A request of an unsubscribe link, with its path as sent. */
type LinkRequest = { readonly path: string };

/** The handlers of unsubscribe links. The token in the path is the only credential. */
export type UnsubscribeEndpoint = {
  /** Shows a page with a button. Changes nothing, because mail programs and filters open links. */
  show(request: LinkRequest, response: ServerResponse): Promise<void>;
  /** Turns the email off (RFC 8058, section 3.2). Ignores the body. */
  accept(request: LinkRequest, response: ServerResponse): Promise<void>;
};

/** Creates the handlers of unsubscribe links. They do not require email to be configured: links do not expire. */
export function createUnsubscribeEndpoint(
  options: CancelDependencies & { tokens: UnsubscribeTokens },
): UnsubscribeEndpoint {
  const { tokens, database } = options;
  const verify = (request: LinkRequest) => tokens.verify(request.path.split('/').at(-1) ?? '');
  return {
    async show(request, response) {
      const topic = verify(request);
      const isValid = topic !== undefined && (await isKnownUser(database, topic.userId));
      reply(response, isValid ? topic : undefined, renderQuestion);
    },
    async accept(request, response) {
      const topic = verify(request);
      const now = toTime(new Date());
      const isValid = topic !== undefined && (await unsubscribe(options, topic, now));
      reply(response, isValid ? topic : undefined, renderConfirmation);
    },
  };
}

function reply(
  response: ServerResponse,
  topic: EmailTopic | undefined,
  render: (topic: EmailTopic) => string,
): void {
  response.setHeader('X-Robots-Tag', 'noindex');
  const isValid = topic !== undefined;
  sendPage(response, isValid ? render(topic) : invalidLinkPage, 'no-store', {
    status: isValid ? 200 : 404,
    formAction: "'self'",
  });
}
