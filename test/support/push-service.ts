import { createECDH, type ECDH, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { decrypt } from 'http_ece';
import { type Certificate, createCertificate, startServer, trustCertificate } from './servers.ts';

/** A browser that has subscribed: its keys, as `PushSubscription.toJSON()` returns them. */
export type Browser = {
  keys: { p256dh: string; auth: string };
  /** Decrypts a message with an implementation that is not ours. */
  decrypt(message: Buffer): string;
};

/** Creates the keys of a browser. */
export function createBrowser(): Browser {
  const ecdh: ECDH = createECDH('prime256v1');
  ecdh.generateKeys();
  const authSecret = randomBytes(16);
  return {
    keys: { p256dh: ecdh.getPublicKey('base64url'), auth: authSecret.toString('base64url') },
    decrypt: (message) => decrypt(message, { version: 'aes128gcm', privateKey: ecdh, authSecret }).toString(),
  };
}

/** A request that a push service received. */
type PushRequest = {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
};

/** Replies to a request whose body was received. */
export type Reply = (response: ServerResponse<IncomingMessage>, socket: Socket) => void;

let trusted: Certificate | undefined;

/** Returns the certificate of all trusted push services: replacing the trusted authorities takes 50 ms. */
function getTrustedCertificate(): Certificate {
  if (trusted === undefined) {
    trusted = createCertificate('DNS:localhost');
    trustCertificate(trusted);
  }
  return trusted;
}

export type PushService = Awaited<ReturnType<typeof startPushService>>;

/** Starts a push service. `reply` defaults to status 201; the certificate is trusted unless `isTrusted` is false. */
export async function startPushService(
  reply: Reply = (response) => void response.writeHead(201).end(),
  { isTrusted = true } = {},
) {
  const { key, cert } = isTrusted ? getTrustedCertificate() : createCertificate('DNS:localhost');
  const requests: PushRequest[] = [];
  const server = createServer({ key, cert }, async (request, response) => {
    const { method, url, headers } = request;
    requests.push({ method, url, headers, body: await buffer(request) });
    reply(response, request.socket);
  });
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  const { port, close } = await startServer(server, 0, 'localhost');
  return {
    /** `localhost` and the port, as in PUSH_ALLOWED_HOSTS. */
    host: `localhost:${port}`,
    port,
    requests,
    /** Returns the number of connections that it accepted. */
    connections: () => connections,
    close,
  };
}
