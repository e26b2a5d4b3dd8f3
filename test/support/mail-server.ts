import { createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { getPort, startServer, type TestServer } from './servers.ts';

/** A mail as received: the addresses of the envelope, the source, and its parts. */
type ReceivedMail = { from: string; to: string[]; source: string; parsed: ParsedMail; isSecure: boolean };

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

/** A refusal, as callbacks of `smtp-server` return it. */
export function refusal(status: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode: status });
}

/**
 * Starts `smtp-server` on all IPv4 addresses of this machine, by default without TLS and without users. It replies with
 * exactly the codes that it is given.
 */
export async function startMailServer(options: SMTPServerOptions = {}) {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.key === undefined ? ['STARTTLS'] : [],
    hideENHANCEDSTATUSCODES: true,
    disableReverseLookup: true,
    closeTimeout: 1,
    async onData(stream, { envelope, secure }, done) {
      const source = await buffer(stream);
      const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
      const to = envelope.rcptTo.map(({ address }) => address);
      const parsed = await simpleParser(source);
      mails.push({ from, to, source: source.toString(), parsed, isSecure: secure });
      done();
    },
    ...options,
  });
  // Clients that reject the certificate close the connection.
  server.on('error', () => undefined);
  let connections = 0;
  server.server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  return {
    port: getPort(server.server),
    mails,
    /** The number of connections so far. */
    get connections() {
      return connections;
    },
    /** Closes open connections too, after a short time. */
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

/**
 * Starts a server that breaks the protocol: it sends `greeting`, and then passes each line of the client to `respond`,
 * including the lines of the message and the final dot.
 */
export function startBrokenServer(
  greeting: string | null,
  respond: (line: string, socket: Socket) => void = () => undefined,
): Promise<TestServer> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    if (greeting !== null) socket.write(`${greeting}\r\n`);
    let rest = '';
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) respond(line, socket);
    });
  });
  return startServer(server);
}

/** Replies as a server does that accepts everything, except to the lines that `exceptions` handle. */
export function acceptExcept(exceptions: Readonly<Record<string, (socket: Socket) => void>>) {
  const replies: Readonly<Record<string, string>> = {
    EHLO: '250 mail.test',
    MAIL: '250 2.1.0 OK',
    RCPT: '250 2.1.5 OK',
    DATA: '354 Go ahead',
    '.': '250 2.0.0 OK',
    RSET: '250 2.0.0 OK',
    QUIT: '221 2.0.0 Bye',
  };
  return (line: string, socket: Socket): void => {
    const [command = ''] = line.split(' ');
    const exception = exceptions[command];
    const reply = replies[command];
    if (exception !== undefined) exception(socket);
    else if (reply !== undefined) socket.write(`${reply}\r\n`);
  };
}
