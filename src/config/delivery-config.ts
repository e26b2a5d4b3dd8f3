import type { KeyObject } from 'node:crypto';
import type { z } from 'zod';
import type { Secret } from '../values/secret.ts';
import type { Mailbox } from './delivery-formats.ts';
import type { Environment } from './environment.ts';

/** The delivery of notifications. A channel without a provider is `null`. */
export type DeliveryConfig = {
  /** Whether this process sends. Deliveries to configured channels are queued in any case. */
  sends: boolean;
  email: EmailConfig | null;
  push: PushConfig | null;
  chat: ChatConfig | null;
  /** The URL of a notification in the web app, with `{id}` in place of its ID. */
  appUrl: string | null;
};

export type EmailConfig = {
  /** Contains the password. */
  url: Secret;
  from: Mailbox;
  /** The delay before an email is sent, because the user may dismiss the notification first. */
  delaySeconds: number;
};

/** `subject` is the operator's address for push services (RFC 8292, section 2.1). */
export type PushConfig = { privateKey: KeyObject; subject: string; allowedHosts: readonly string[] };

/** `apiUrl` has no trailing slash. */
export type ChatConfig = { token: Secret; apiUrl: string };

/** Reads the settings of delivery. */
export function readDelivery(settings: z.output<typeof Environment>): DeliveryConfig {
  const { SMTP_URL, SMTP_FROM, VAPID_PRIVATE_KEY, VAPID_SUBJECT, CHAT_TOKEN } = settings;
  const delaySeconds = settings.DELIVERY_EMAIL_DELAY_SECONDS;
  const allowedHosts = settings.PUSH_ALLOWED_HOSTS;
  return {
    sends: settings.DELIVERY,
    email: SMTP_URL && SMTP_FROM ? { url: SMTP_URL, from: SMTP_FROM, delaySeconds } : null,
    push:
      VAPID_PRIVATE_KEY && VAPID_SUBJECT
        ? { privateKey: VAPID_PRIVATE_KEY, subject: VAPID_SUBJECT, allowedHosts }
        : null,
    chat: CHAT_TOKEN ? { token: CHAT_TOKEN, apiUrl: settings.CHAT_API_URL } : null,
    appUrl: settings.APP_URL ?? null,
  };
}
