import { constants } from 'node:os';
import { createTransport, type NodemailerError, type SMTPPoolOptions } from 'nodemailer';
import { parseConnectionUrl } from 'nodemailer/lib/shared';
import { isLoopback } from '../../config/formats.ts';
import type { EmailConfig } from '../../config.ts';
import type { Channel } from '../channel.ts';
import type { DeliveryFailureReason } from '../delivery.enums.ts';
import { type AttemptOutcome, pauseProvider, rejectTarget, requireOperator, retryLater } from '../outcome.ts';
import { composeMail, type MailSettings, type Recipient } from './mail.ts';

/** The settings of the email channel. `timeouts` replaces the defaults. */
export type EmailOptions = Omit<MailSettings, 'from'> & { timeouts?: typeof defaultTimeouts };

/** In milliseconds. Each is shorter than the time that deliver.ts allows for an attempt. */
const defaultTimeouts = {
  /** For setting up the session, from the DNS query to the end of the TLS handshake. */
  connectionTimeout: 8000,
  /** For the server's first reply, and for an upgrade by STARTTLS. Both are parts of setting up the session. */
  greetingTimeout: 8000,
  /** For a wait without any data from the server. */
  socketTimeout: 12_000,
};

/** The number of connections. A connection sends one message at a time. */
const CONNECTIONS = 5;
const CONNECTIONS_PER_USER = 4;
const ATTEMPT_MS = 20_000;

/** Creates the channel that sends emails to an SMTP server (RFC 5321), which relays them. */
export function createEmailChannel(config: EmailConfig, options: EmailOptions): Channel<Recipient> {
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
    concurrencyPerUser: CONNECTIONS_PER_USER,
    attemptMs: ATTEMPT_MS,
    async send(message, recipient, signal) {
      const mail = composeMail(message, recipient, { from, publicUrl, tokens });
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

/** The properties of an error of nodemailer that determine the outcome. */
export type SmtpError = Pick<NodemailerError, 'code' | 'originalCode' | 'command' | 'response'>;

/** The codes in the server's reply: status and enhanced status (RFC 3463), empty if absent. */
type Codes = { status: string; enhanced: string };

/** Statuses that refuse or require credentials (RFC 4954, section 6). */
const AUTHENTICATION = ['530', '534', '535', '538'];

/** The sender's mailbox or system is invalid, or a policy refuses the mail (RFC 3463, sections 3.2 and 3.8). */
const SENDER_OR_POLICY = /^5\.(1\.7|1\.8|7\.\d+)$/;

/** Connection errors, and the abort when an attempt times out. */
const CONNECTION = ['ECONNECTION', 'ESOCKET', 'ETIMEDOUT', 'EDNS', 'ETLS', 'EPROTOCOL', 'EABORT'];

/**
 * Converts an error of nodemailer to the outcome of an attempt. `wasHandedOver` is whether the server may have received
 * the whole message, and so may have accepted it.
 */
export function classifyError(error: SmtpError, wasHandedOver: boolean): AttemptOutcome {
  const codes = readCodes(error);
  const { status } = codes;
  const providerCode =
    status === ''
      ? (error.originalCode ?? error.code ?? null)
      : [status, codes.enhanced].filter(Boolean).join(' ');
  const fail = (reason: DeliveryFailureReason): AttemptOutcome => {
    return { kind: 'failed', suspendTarget: false, reason, providerCode };
  };
  const retry = (reason: DeliveryFailureReason) => retryLater(reason, providerCode);
  const pause = (needsOperator: boolean) =>
    needsOperator ? requireOperator(providerCode) : pauseProvider(providerCode);

  if (status === '421') return pause(false);
  if (error.code === 'EAUTH') return pause(!status.startsWith('4'));
  switch (error.command) {
    case 'MAIL FROM':
      return status.startsWith('4') ? retry('message_rejected') : pause(true);
    case 'RCPT TO':
    case 'DATA': {
      if (refusesSender(codes)) return retry('provider_refused');
      if (codes.enhanced.startsWith('5.1.')) return rejectTarget(providerCode);
      const reason = error.command === 'RCPT TO' ? 'recipient_rejected' : 'message_rejected';
      return isPermanent(codes) ? fail(reason) : retry(reason);
    }
  }
  // Nodemailer found the address invalid.
  if (error.code === 'EENVELOPE') return rejectTarget(providerCode);
  if (wasHandedOver) return retry('reply_lost');
  if (!CONNECTION.includes(error.code ?? '')) return retry('provider_unavailable');
  return pause(status.startsWith('5') || isTlsError(error));
}

function readCodes({ response = '' }: SmtpError): Codes {
  const [, status = '', enhanced = ''] =
    /^(\d{3})(?:[ -]([245]\.\d{1,3}\.\d{1,3})(?!\S))?/.exec(response) ?? [];
  return { status, enhanced };
}

/**
 * Whether the server may have refused the sender. Servers such as Postfix check credentials, sender and relaying only
 * when they receive a recipient. The same codes can also mean that only this recipient or message is refused, so they
 * do not pause the provider.
 */
function refusesSender({ status, enhanced }: Codes): boolean {
  return AUTHENTICATION.includes(status) || SENDER_OR_POLICY.test(enhanced);
}

/** 503 means that the session is in the wrong state, not that the message is refused. */
function isPermanent({ status }: Codes): boolean {
  return status.startsWith('5') && status !== '503';
}

/** Errors of certificates and of the handshake have their own codes; other socket errors have system codes. */
function isTlsError({ code, originalCode }: SmtpError): boolean {
  if (code !== 'ESOCKET' || originalCode === undefined) return false;
  return originalCode === 'EPROTO' || !(originalCode in constants.errno);
}
