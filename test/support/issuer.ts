import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { startServer } from './servers.ts';

/** An issuer that serves its key set over HTTP. */
export type Issuer = {
  url: string;
  /** The number of requests for the key set. */
  requests(): number;
  /** Replaces all keys with a new one and returns its private key. */
  rotate(kid: string): Promise<CryptoKey>;
  /** Adds a key and returns its private key. */
  add(kid: string): Promise<CryptoKey>;
  /** Removes a key. */
  withdraw(kid: string): void;
  /** Replies to every request with 503. */
  fail(): void;
  /** Ends {@link fail}. */
  recover(): void;
  /** Replies to every request with 200 and this body. */
  respondWith(text: string): void;
  /** Holds back all replies until the returned function is called. */
  holdReplies(): () => void;
  close(): Promise<void>;
};

/** Starts an issuer without keys. */
export async function startIssuer(): Promise<Issuer> {
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
    requests: () => requests,
    async rotate(kid) {
      keys = [];
      text = undefined;
      return add(kid);
    },
    add,
    withdraw(kid) {
      keys = keys.filter((key) => key.kid !== kid);
    },
    fail() {
      isDown = true;
    },
    recover() {
      isDown = false;
    },
    respondWith(given) {
      text = given;
    },
    holdReplies() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    close,
  };
}
