import type { IncomingMessage } from 'node:http';

/** The body of a request as JSON. The load sends what is asked for: nothing is checked. */
export async function readBody<Body>(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body: Body = JSON.parse(Buffer.concat(chunks).toString());
  return body;
}
