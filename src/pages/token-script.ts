/** The attribute of the element `#root` that names the path at which the page gets a token; empty if it gets none. */
export function tokenPathAttribute(grantsTokens: boolean): string {
  return grantsTokens ? ' data-token-path="graphql/token"' : '';
}

/**
 * The part of a page's script that gets a token. Both GraphiQL and the REST reference have it, and share the key: it is
 * the fragment of the URL that the gateway printed.
 */
export const tokenScript = `
/** Exchanges the key for a token, or returns why there is none. */
async function requestToken() {
  const path = document.querySelector('#root').dataset.tokenPath;
  if (path === undefined) return { key: 'off' };
  const key = takeKey();
  if (key === null) return { key: 'missing' };
  const headers = { 'Content-Type': 'application/json' };
  const reply = await fetch(path, { method: 'POST', headers, body: JSON.stringify({ key }) });
  return reply.ok ? reply.json() : { key: 'invalid' };
}

/** Moves the key from the URL to the storage of this browser tab, where reloads find it. */
function takeKey() {
  const given = readKey();
  if (given !== null) {
    sessionStorage.setItem('gateway:key', given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return sessionStorage.getItem('gateway:key');
}

function readKey() {
  return new URLSearchParams(location.hash.slice(1)).get('key');
}

// Pasting the URL with another key into the address bar does not load the page again.
addEventListener('hashchange', () => {
  if (readKey() !== null) location.reload();
});
`;
