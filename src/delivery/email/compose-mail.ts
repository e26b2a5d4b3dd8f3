import { hash } from 'node:crypto';
import type { SendMailOptions } from 'nodemailer';
import type { Mailbox } from '../../config/delivery-formats.ts';
import type { Message } from '../message.ts';
import { renderMail } from './render-mail.ts';
import { toUnsubscribeUrl, type UnsubscribeTokens } from './unsubscribe-token.ts';

/** What all emails of a gateway have in common. */
export type MailSettings = {
  from: Mailbox;
  /**
   * The URL of the gateway without a trailing slash. `null` if not configured; emails then have no unsubscribe link.
   */
  publicUrl: string | null;
  tokens: Pick<UnsubscribeTokens, 'sign'>;
};

/** Longer links do not fit on a line of a header (RFC 5322, section 2.1.1). */
const MAX_HEADER_URL = 950;

/**
 * Composes the mail of a message. Texts are values of structured fields, which nodemailer encodes, so they cannot add
 * headers or recipients. Attempts for the same message have the same `Message-ID`.
 */
export function composeMail(
  message: Message,
  address: string,
  { from, publicUrl, tokens }: MailSettings,
): SendMailOptions & { messageId: string } {
  const unsubscribeUrl = publicUrl === null ? null : toUnsubscribeUrl(publicUrl, tokens.sign(message));
  return {
    ...renderMail(message, unsubscribeUrl),
    ...composeHeaders(unsubscribeUrl),
    from: { ...from },
    to: { name: '', address },
    subject: message.title.replaceAll(/\p{Cc}+/gu, ' '),
    messageId: createMessageId(message, from),
  };
}

function composeHeaders(unsubscribeUrl: string | null): SendMailOptions {
  const autoSubmitted = { 'Auto-Submitted': 'auto-generated' };
  if (!unsubscribeUrl?.startsWith('https:') || unsubscribeUrl.length > MAX_HEADER_URL)
    return { headers: autoSubmitted };
  return {
    headers: { ...autoSubmitted, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
    list: { unsubscribe: unsubscribeUrl },
  };
}

function createMessageId({ userId, notificationId }: Message, { address }: Mailbox): string {
  const id = hash('sha256', JSON.stringify([userId, notificationId]), 'base64url');
  return `<${id}@${address.split('@').at(-1)}>`;
}
