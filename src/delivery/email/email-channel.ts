import { createTransport, type NodemailerError, type SMTPPoolOptions } from 'nodemailer';
import { parseConnectionUrl } from 'nodemailer/lib/shared';
import { isLoopback } from '../../config/formats.ts';
import type { EmailConfig } from '../../config.ts';
import type { Channel } from '../channel.ts';
import { classifyError } from './classify-error.ts';
import { composeMail, type MailSettings } from './compose-mail.ts';

/** The mailbox of a user. */
export type EmailTarget = { readonly address: string };

/** The settings of the email channel. `timeouts` replaces the defaults. */
export type EmailOptions = Omit<MailSettings, 'from'> & { timeouts?: EmailTimeouts };

/** In milliseconds. Each is shorter than the time that deliver.ts allows for an attempt. */
export type EmailTimeouts = {
  /** For setting up the session, from the DNS query to the end of the TLS handshake. */
  connectionTimeout: number;
  /** For the server's first reply, and for an upgrade by STARTTLS. Both are parts of setting up the session. */
  greetingTimeout: number;
  /** For a wait without any data from the server. */
  socketTimeout: number;
};

const defaultTimeouts: EmailTimeouts = {
  connectionTimeout: 8000,
  greetingTimeout: 8000,
  socketTimeout: 12_000,
};

/** The number of connections. A connection sends one message at a time. */
const CONNECTIONS = 5;

/** Creates the channel that sends emails to an SMTP server (RFC 5321), which relays them. */
export function createEmailChannel(config: EmailConfig, options: EmailOptions): Channel<EmailTarget> {
  const { from } = config;
  const { publicUrl, tokens } = options;
  const transport = createTransport(createPoolOptions(config, options));

  // Errors do not say whether the message was sent. Its stream ends when nodemailer has written all of it.
  const handedOver = new Set<string>();
  transport.use('stream', ({ message }, done) => {
    message.processFunc((stream) => stream.once('end', () => handedOver.add(message.messageId())));
    done();
  });

  return {
    concurrency: CONNECTIONS,
    concurrencyPerProvider: CONNECTIONS,
    isProviderChosenByUsers: false,
    async send(message, { address }, signal) {
      const mail = composeMail(message, address, { from, publicUrl, tokens });
      const error = await new Promise<NodemailerError | null>((resolve) => {
        transport.sendMail({ ...mail, signal }, resolve);
      });
      const wasHandedOver = handedOver.delete(mail.messageId);
      return error === null ? { kind: 'delivered' } : classifyError(error, wasHandedOver);
    },
    async close() {
      transport.close();
    },
  };
}

function createPoolOptions(
  { url }: EmailConfig,
  { timeouts = defaultTimeouts }: EmailOptions,
): SMTPPoolOptions & { pool: true } {
  const { host = '', port, secure, auth } = parseConnectionUrl(url.reveal());
  // Servers on this machine often have a self-signed certificate, and nobody else can read the connection.
  const isLocal = isLoopback(host);
  return {
    pool: true,
    maxConnections: CONNECTIONS,
    // Retries if the server had closed the idle connection before anything was sent.
    maxRequeues: 1,
    host,
    port,
    secure,
    auth,
    tls: { rejectUnauthorized: !isLocal },
    requireTLS: !isLocal,
    ...timeouts,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
