import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** Replies are data: no browser shall run, frame or guess anything of them. GraphiQL's page sets a policy of its own. */
export function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    xFrameOptions: { action: 'deny' },
  });
}
