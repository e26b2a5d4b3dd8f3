import type { Message } from '../../src/delivery/message.ts';
import type { AttemptOutcome } from '../../src/delivery/outcome.ts';
import { startChatApi } from '../support/chat-api.ts';
import { unreachableProviders } from '../support/delivery.ts';
import { refusal, startMailServer } from '../support/mail-server.ts';
import { startPushService } from '../support/push-service.ts';

/** A chat API, a mail server and a push service, and the settings of a gateway that sends over them. */
export type Providers = Awaited<ReturnType<typeof startProviders>>;

/** Starts the providers. The mail server refuses addresses that start with `refused`. */
export async function startProviders() {
  const chat = await startChatApi();
  const mail = await startMailServer({
    allowInsecureAuth: true,
    onAuth: (_auth, _session, done) => done(null, { user: 'gateway' }),
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith('refused') ? refusal(550, `5.1.1 <${address}> has no mailbox`) : undefined),
  });
  /** The replies to the next push messages. Further ones are accepted. */
  const pushReplies: { status: number; headers?: Record<string, string> }[] = [];
  const push = await startPushService((response) => {
    const { status, headers } = pushReplies.shift() ?? { status: 201 };
    response.writeHead(status, headers).end(response.req.url);
  });
  return {
    chat,
    mail,
    push,
    pushReplies,
    settings: {
      ...unreachableProviders,
      SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
      DELIVERY_EMAIL_DELAY_SECONDS: '0',
      PUSH_ALLOWED_HOSTS: push.host,
      CHAT_API_URL: chat.url,
    },
    async close() {
      await Promise.all([push.close(), mail.close(), chat.close()]);
    },
  };
}

/** A message, as every channel sends it. */
export const message: Message = {
  userId: 'alice',
  notificationId: 'n-1',
  kind: 'plan_requested',
  title: 'Add a login page',
  request: 'A plan needs your approval.',
  details: '1. Add a form\n2. Test it',
  questions: [],
  task: 'Login',
  project: 'web-shop',
  occurredAt: '2026-05-04T10:00:00.000Z',
  expiresAt: '2026-05-05T10:00:00.000Z',
  url: 'https://app.example.com/inbox/n-1',
};

/** Formats all of an outcome: kind, reason, code or receipt, and what else it says. */
export function formatOutcome(outcome: AttemptOutcome): string {
  const { kind, reason, providerCode, receipt, retryAfterSeconds, ...flags }: Record<string, unknown> =
    outcome;
  const wait = retryAfterSeconds === undefined ? undefined : `after ${retryAfterSeconds} s`;
  const set = Object.keys(flags).filter((name) => flags[name]);
  return [kind, reason, providerCode, receipt, wait, ...set].filter((part) => part ?? false).join(' ');
}
