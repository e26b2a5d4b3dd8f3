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
