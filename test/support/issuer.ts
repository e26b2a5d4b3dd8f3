import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';

/** An issuer whose key set is fetched over HTTP. */
export type Issuer = {
  url: string;
  /** How often the key set was asked for. */
  requests(): number;
  /** Publishes a new key in place of the ones before, and answers its private half. */
  rotate(kid: string): Promise<CryptoKey>;
  /** Publishes a new key beside the ones before, and answers its private half. */
  add(kid: string): Promise<CryptoKey>;
  /** Publishes a key no longer. */
  withdraw(kid: string): void;
  /** From now on every request is answered 503. */
  fail(): void;
  /** Ends what {@link fail} began. */
  recover(): void;
  /** From now on every request is answered 200 with this text. */
  answer(text: string): void;
  /** From now on requests are taken and not answered, until the function that comes back is called. */
  hold(): () => void;
  close(): Promise<void>;
};

/** Starts an issuer without any key. */
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  async function add(kid: string): Promise<CryptoKey> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    keys.push({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' });
    return privateKey;
  }

  return {
    url: `http://127.0.0.1:${port}/jwks`,
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
    answer(given) {
      text = given;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
