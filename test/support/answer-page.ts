import { putContact } from './delivery.ts';
import { eventually } from './eventually.ts';
import { startTestGateway, type TestGateway } from './gateway.ts';
import { type MailServer, startMailServer } from './mail-server.ts';
import { type Kind, publish } from './records.ts';
import { freePort } from './servers.ts';

/** A gateway whose mails link to the answer page, and the server that receives them. */
export type AnsweringGateway = TestGateway & { mails: MailServer['mails'] };

/** Starts both. The links in mails lead to the gateway itself. */
export async function startAnsweringGateway(
  settings: Record<string, string> = {},
): Promise<AnsweringGateway> {
  const mail = await startMailServer();
  const port = await freePort();
  const gateway = await startTestGateway({
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    SMTP_FROM: 'gateway@example.com',
    DELIVERY_EMAIL_DELAY_SECONDS: '0',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    PORT: String(port),
    APP_URL: 'https://app.example.com/inbox/{id}',
    ANSWER_LINKS: 'all',
    ...settings,
  });
  return {
    ...gateway,
    mails: mail.mails,
    async close() {
      await gateway.close();
      await mail.close();
    },
  };
}

/** Publishes a request to a user with an address, and returns its ID and the link in the mail about it. */
export async function publishByMail(
  gateway: AnsweringGateway,
  userId: string,
  kind: Kind = 'plan_requested',
  input: Record<string, unknown> = {},
): Promise<{ id: string; link: string }> {
  await putContact(gateway, userId, { email: `${userId}@example.com` });
  const before = gateway.mails.length;
  const { id } = await publish(gateway, userId, kind, input);
  return { id, link: await eventually(() => findLink(gateway, userId, before)) };
}

/** Returns the link in the newest mail to a user. */
export function findLink({ mails }: Pick<MailServer, 'mails'>, userId: string, from = 0): string {
  const mail = mails.slice(from).findLast(({ to }) => to.includes(`${userId}@example.com`));
  const [link] = /https?:\S+\/answer\/\S+/.exec(mail?.parsed.text ?? '') ?? [];
  if (link === undefined) throw new Error('No mail with a link arrived.');
  return link;
}

/** Opens a link, as a reader of a language. */
export async function openLink(link: string, init: RequestInit = {}) {
  const response = await fetch(link, { redirect: 'error', ...init });
  return { status: response.status, headers: response.headers, page: await response.text() };
}

/** Sends the form of the page, as a browser does. */
export function sendForm(
  link: string,
  fields: Record<string, string> | URLSearchParams,
  headers: Record<string, string> = {},
) {
  const form = new URLSearchParams(fields);
  return openLink(link, {
    method: 'POST',
    body: form,
    headers: { Origin: new URL(link).origin, ...headers },
  });
}

/** The fields of decisions about plans. */
export const decide = {
  approve: { 'choice-0': '0' },
  change: { 'choice-0': '1' },
  reject: { 'choice-0': '2' },
};
