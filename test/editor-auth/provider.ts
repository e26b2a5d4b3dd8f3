import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { startServer } from '../support/servers.ts';

/** A pair of tokens that an authorization server issued. */
export type Pair = { accessToken: string; refreshToken: string };

/** An authorization server whose refresh tokens can be used once. */
export type Provider = {
  /** The status of every reply. */
  replies: number[];
  /** Issues the first pair of tokens of a subscription. */
  issue(): Pair;
  /** Refreshes a pair over HTTP (RFC 6749, section 6); undefined if the refresh token was used before. */
  exchange(refreshToken: string): Promise<Pair | undefined>;
  close(): Promise<void>;
};

const Issued = z.object({ access_token: z.string(), refresh_token: z.string() });

/** Starts an authorization server. */
export async function startProvider(): Promise<Provider> {
  const unused = new Set<string>();
  const replies: number[] = [];
  const issue = () => {
    const pair = { accessToken: `access-${randomUUID()}`, refreshToken: `refresh-${randomUUID()}` };
    unused.add(pair.refreshToken);
    return pair;
  };

  const server = createServer(async (request, response) => {
    const given = new URLSearchParams(await text(request)).get('refresh_token') ?? '';
    const isGood = unused.delete(given);
    replies.push(isGood ? 200 : 400);
    response.writeHead(isGood ? 200 : 400, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(isGood ? toReply(issue()) : { error: 'invalid_grant' }));
  });
  const { url, close } = await startServer(server);

  return {
    replies,
    issue,
    async exchange(refreshToken) {
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken });
      const response = await fetch(url, { method: 'POST', body });
      if (!response.ok) return undefined;
      const issued = Issued.parse(await response.json());
      return { accessToken: issued.access_token, refreshToken: issued.refresh_token };
    },
    close,
  };
}

function toReply({ accessToken, refreshToken }: Pair): z.infer<typeof Issued> {
  return { access_token: accessToken, refresh_token: refreshToken };
}
