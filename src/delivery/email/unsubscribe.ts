import type { ServerResponse } from 'node:http';
import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { defineStatement, type Params } from '../../database/statement.ts';
import { transaction } from '../../database/transaction.ts';
import type { OutboxDependencies } from '../../live/outbox.ts';
import { defaultChannels } from '../../notifications/preferences/channels.ts';
import { preferenceColumns } from '../../notifications/preferences/preference-statements.ts';
import { renderTextPage, sendPage } from '../../pages/page.ts';
import { findRevisions } from '../../revisions/revisions.ts';
import { type Time, toTime } from '../../values/time.ts';
import { kindNames } from './mail.ts';
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
  options: OutboxDependencies & { tokens: UnsubscribeTokens },
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

/** Whether a user has received a notification and has not been deleted since. Links of deleted users are invalid. */
async function isKnownUser(database: Database, userId: string): Promise<boolean> {
  const revisions = await findRevisions(database, userId);
  return revisions !== undefined && revisions.notifications > 0;
}

/**
 * Turns off email about one kind of notification, and cancels what is not sent yet. Other channels and kinds keep their
 * values. Returns `false` if the user was deleted.
 */
async function unsubscribe(
  { database, outbox }: OutboxDependencies,
  { userId, kind }: EmailTopic,
  now: Time,
): Promise<boolean> {
  // `transaction` locks the user's row of `UserRevision`, and would create it for a deleted user.
  if (!(await isKnownUser(database, userId))) return false;
  const owners = await transaction(database, [userId], (run) => run(disableEmail, { userId, kind, now }));
  outbox.note([userId]);
  return owners.length > 0;
}

/** Stores the preference unless the user was deleted, and returns the user. */
const disableEmail = defineStatement((db, { param }: Params<EmailTopic & { now: Time }>) =>
  db
    .with('owner', (db) =>
      db
        .selectFrom('UserRevision')
        .select('userId')
        .where('userId', '=', param('userId'))
        .where('notifications', '>', 0),
    )
    .with('stored', (db) =>
      db
        .insertInto('NotificationPreference')
        .columns(preferenceColumns)
        .expression((eb) =>
          eb
            .selectFrom('owner')
            .select([
              'userId',
              param('kind', 'text').as('notificationKind'),
              sql.lit(false).as('emailEnabled'),
              sql.lit(defaultChannels.pushEnabled).as('pushEnabled'),
              sql.lit(defaultChannels.chatDmEnabled).as('chatDmEnabled'),
              param('now', 'timestamptz').as('createdAt'),
              param('now', 'timestamptz').as('updatedAt'),
            ]),
        )
        .onConflict((conflict) =>
          conflict
            .columns(['userId', 'notificationKind'])
            .doUpdateSet((eb) => ({ emailEnabled: false, updatedAt: eb.ref('excluded.updatedAt') }))
            .where('NotificationPreference.emailEnabled', '=', true),
        )
        .returning('userId'),
    )
    .selectFrom('owner')
    .select('userId'),
);

/** Renders the page that asks for confirmation. The form posts to the address of the page. */
function renderQuestion({ kind }: EmailTopic): string {
  return renderTextPage(
    'Unsubscribe',
    `<h1>Stop email about ${kindNames[kind]}?</h1>
    <p>Your inbox, other kinds of email and other channels do not change.</p>
    <form method="post"><button>Stop this email</button></form>`,
  );
}

/** Renders the page that confirms the change. */
function renderConfirmation({ kind }: EmailTopic): string {
  return renderTextPage(
    'Unsubscribed',
    `<h1>Email about ${kindNames[kind]} is off</h1>
    <p>You can turn it on again in your notification preferences.</p>`,
  );
}

/** The page of an invalid link. */
const invalidLinkPage = renderTextPage(
  'Not found',
  `<h1>This link is not valid</h1>
    <p>It may be incomplete, or the account no longer exists.</p>`,
);
