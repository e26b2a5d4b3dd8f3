import type { ServerResponse } from 'node:http';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Database } from '../../database/database.ts';
import { userTransaction } from '../../database/transaction.ts';
import type { OutboxDependencies } from '../../live/outbox.ts';
import type { NotificationKind } from '../../notifications/notification.enums.ts';
import { defaultChannels } from '../../notifications/preferences/channels.ts';
import { NotificationPreference } from '../../notifications/preferences/preference.entity.ts';
import { html } from '../../pages/html.ts';
import { type PlainPage, sendPlainPage } from '../../pages/plain-page.ts';
import { UserRevision } from '../../revisions/revisions.entity.ts';
import { findRevisions } from '../../revisions/revisions.ts';
import { type Time, toTime } from '../../values/time.ts';
import { kindNames } from './mail.ts';
import type { EmailTopic, UnsubscribeTokens } from './unsubscribe-token.ts';

/** A request of an unsubscribe link, with its path as sent. */
type LinkRequest = { readonly path: string };

/**
 * Creates the handlers of unsubscribe links. The token in the path is the only credential. They do not require email to be
 * configured: links do not expire. `show` changes nothing, because mail programs and filters open links.
 */
export function createUnsubscribeEndpoint(options: OutboxDependencies & { tokens: UnsubscribeTokens }) {
  const { tokens, database } = options;
  const verify = (request: LinkRequest) => tokens.verify(request.path.split('/').at(-1) ?? '');
  return {
    async show(request: LinkRequest, response: ServerResponse): Promise<void> {
      const topic = verify(request);
      const isValid = topic !== undefined && (await isKnownUser(database, topic.userId));
      sendPlainPage(response, 'en', isValid ? renderQuestion(topic) : invalidLinkPage);
    },
    /** Turns the email off (RFC 8058, section 3.2). Ignores the body. */
    async accept(request: LinkRequest, response: ServerResponse): Promise<void> {
      const topic = verify(request);
      const isValid = topic !== undefined && (await unsubscribe(options, topic, toTime(new Date())));
      sendPlainPage(response, 'en', isValid ? renderConfirmation(topic) : invalidLinkPage);
    },
  };
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
  // `userTransaction` locks the user's row of `UserRevision`, and would create it for a deleted user.
  if (!(await isKnownUser(database, userId))) return false;
  const isStored = await userTransaction(database.fork(), [userId], (em) =>
    disableEmail(em, userId, kind, now),
  );
  outbox.note([userId]);
  return isStored;
}

/** Stores the preference, and returns true, unless the user was deleted. */
async function disableEmail(
  em: EntityManager,
  userId: string,
  notificationKind: NotificationKind,
  now: Time,
) {
  if ((await em.count(UserRevision, { userId, notifications: { $gt: 0 } })) === 0) return false;
  const key = { userId, notificationKind };
  const stored = await em.findOne(NotificationPreference, key);
  const preference =
    stored ??
    em.create(NotificationPreference, { ...key, ...defaultChannels, createdAt: now, updatedAt: now });
  if (!preference.emailEnabled) return true;
  preference.emailEnabled = false;
  preference.updatedAt = now;
  return true;
}

/** Renders the page that asks for confirmation. The form posts to the address of the page. */
const renderQuestion = ({ kind }: EmailTopic): PlainPage => ({
  status: 200,
  title: 'Unsubscribe',
  content: html`<h1>Stop email about ${kindNames[kind]}?</h1>
    <p>Your inbox, other kinds of email and other channels do not change.</p>
    <form method="post"><button>Stop this email</button></form>`,
});

/** Renders the page that confirms the change. */
const renderConfirmation = ({ kind }: EmailTopic): PlainPage => ({
  status: 200,
  title: 'Unsubscribed',
  content: html`<h1>Email about ${kindNames[kind]} is off</h1>
    <p>You can turn it on again in your notification preferences.</p>`,
});

/** The page of an invalid link. */
const invalidLinkPage: PlainPage = {
  status: 404,
  title: 'Not found',
  content: html`<h1>This link is not valid</h1>
    <p>It may be incomplete, or the account no longer exists.</p>`,
};
