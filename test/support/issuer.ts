import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { startServer } from './servers.ts';

export type Issuer = Awaited<ReturnType<typeof startIssuer>>;

/** Starts an issuer that serves its key set over HTTP, at first without keys. */
export async function startIssuer() {
  let keys: JWK[] = [];
  let text: string | undefined;
  let isDown = false;
  let held = Promise.resolve();
  let requests = 0;
  const server = createServer(async (_request, response) => {
    requests += 1;
    await held;
    response.writeHead(isDown ? 503 : 200, { 'Content-Type': 'application/json' });
    response.end(text ?? JSON.stringify({ keys }));
  });
  const { url, close } = await startServer(server);
  async function add(kid: string): Promise<CryptoKey> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    keys.push({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' });
    return privateKey;
  }

  return {
    url: `${url}/jwks`,
    /** Returns the number of requests for the key set. */
    requests: () => requests,
    /** Replaces all keys with a new one and returns its private key. */
    rotate(kid: string) {
      keys = [];
      text = undefined;
      return add(kid);
    },
    /** Adds a key and returns its private key. */
    add,
    /** Removes a key. */
    withdraw(kid: string) {
      keys = keys.filter((key) => key.kid !== kid);
    },
    /** Replies to every request with 503 until {@link recover}. */
    fail() {
      isDown = true;
    },
    recover() {
      isDown = false;
    },
    /** Replies to every request with 200 and this body. */
    respondWith(given: string) {
      text = given;
    },
    /** Holds back all replies until the returned function is called. */
    holdReplies(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    close,
  };
}
