/** The element that a page's script fills. It names the path at which the script gets a token, if it can get one. */
export function renderRoot(grantsTokens: boolean): string {
  return `<div id="root"${grantsTokens ? ' data-token-path="graphql/token"' : ''}></div>`;
}

/**
 * The part of a page's script that gets a token. GraphiQL and the REST reference share the key: it is the fragment of the
 * URLs that the gateway printed.
 */
export const tokenScript = `
/** Exchanges the key for a token. Returns undefined without a valid key. */
async function requestToken() {
  const path = document.querySelector('#root').dataset.tokenPath;
  const key = takeKey();
  if (path === undefined || key === null) return undefined;
  const headers = { 'Content-Type': 'application/json' };
  const reply = await fetch(path, { method: 'POST', headers, body: JSON.stringify({ key }) });
  return reply.ok ? (await reply.json()).token : undefined;
}

/** Moves the key from the URL to the storage of this browser tab, where reloads find it. */
function takeKey() {
  const given = new URLSearchParams(location.hash.slice(1)).get('key');
  if (given !== null) {
    sessionStorage.setItem('gateway:key', given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return sessionStorage.getItem('gateway:key');
}

// Pasting the URL with another key into the address bar does not load the page again.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#key=')) location.reload();
});
`;
