import helmet from 'helmet';

/** Sets the headers of helmet. Replies are data: no browser may run or frame them. The pages override the policy. */
export const setSecurityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  xFrameOptions: { action: 'deny' },
});
