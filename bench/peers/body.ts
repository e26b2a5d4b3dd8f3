import type { IncomingMessage } from 'node:http';

/** Reads the body of a request as JSON, without validation: the load sends valid requests. */
export async function readBody<Body>(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body: Body = JSON.parse(Buffer.concat(chunks).toString());
  return body;
}
