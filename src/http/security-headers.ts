import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/**
 * Puts the headers of helmet on a reply. Replies are data: no browser shall run, frame or guess anything of them. The
 * pages set a policy of their own. They are the same for every reply, so helmet is asked for them once.
 */
export function securityHeaders(): (response: ServerResponse) => void {
  const sample = new ServerResponse(new IncomingMessage(new Socket()));
  const set = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    xFrameOptions: { action: 'deny' },
  });
  set(sample.req, sample, (error?: unknown) => {
    if (error !== undefined) throw error;
  });
  const headers = sample.getHeaderNames().map((name) => [name, sample.getHeader(name) ?? ''] as const);
  return (response) => {
    for (const [name, value] of headers) response.setHeader(name, value);
  };
}
