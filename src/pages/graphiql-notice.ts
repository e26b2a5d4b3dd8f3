/** The element that the script below fills. */
export const noticeElement = '<p id="notice" role="alert" hidden></p>';

/** Laid over the bottom of the page. */
export const noticeStyle = `
#notice {
  position: fixed;
  inset: auto 0 0;
  z-index: 100;
  margin: 0;
  padding: 12px 16px;
  background: #8a1c0e;
  color: #fff;
  font: 15px/1.4 system-ui, sans-serif;
}
#notice[hidden] {
  display: none;
}
`;

const validToken =
  'a valid token into the Headers tab. In development, this command prints one: npm run -s token -- --sub alice --org acme';

/**
 * The part of the boot script that explains a 401: what is wrong with the token, as far as the page can see, and how to
 * get another. The gateway's reply does not say which check failed. `grant` is the promise of the page's token.
 */
export const noticeScript = `
const send = globalThis.fetch;
globalThis.fetch = async (...request) => {
  const reply = await send(...request);
  const notice = document.querySelector('#notice');
  notice.hidden = reply.status !== 401;
  if (!notice.hidden) {
    const authorization = new Headers(request[1]?.headers).get('authorization');
    notice.textContent = describeToken(authorization, advise(await grant));
  }
  return reply;
};

function advise({ token, key }) {
  if (token !== undefined) return 'Reload the page to get a new one.';
  if (key === 'off') return 'Paste ${validToken}';
  return 'Open the URL of GraphiQL that the gateway printed when it started, or paste ${validToken}';
}

function describeToken(authorization, advice) {
  if (authorization === null) return 'This operation requires a token. ' + advice;
  const expiry = readExpiry(authorization);
  if (!(expiry <= Date.now())) return 'The gateway rejected the token in the Headers tab. ' + advice;
  return 'The token in the Headers tab expired at ' + new Date(expiry).toLocaleTimeString() + '. ' + advice;
}

/** Returns the expiry of a token, in milliseconds since 1970; NaN if it cannot be read. */
function readExpiry(authorization) {
  try {
    const [, claims] = authorization.split('.');
    return 1000 * JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))).exp;
  } catch {
    return NaN;
  }
}
`;
