/*
 * Signs in with the device authorization grant (RFC 8628), keeps the tokens in a file, and prints the channels of each
 * kind of notification. Settings: the identity provider, the client that is registered there, and the gateway.
 */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { env, exit } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from './rest-client.ts';

const { ISSUER = '', CLIENT_ID = '', GATEWAY_URL = '', TOKEN_FILE = '' } = env;
const SCOPE = 'openid offline_access account:read';

type Provider = { device_authorization_endpoint: string; token_endpoint: string };
type Device = { device_code: string; user_code: string; verification_uri: string; interval?: number };
type Tokens = { access_token: string; refresh_token?: string };

const metadata = await fetch(`${ISSUER}/.well-known/openid-configuration`);
const provider: Provider = await metadata.json();

/** Sends parameters to the provider. Its reply is a value, or an error. */
async function post<Value>(url: string, parameters: object): Promise<Value | { error: string }> {
  const body = new URLSearchParams({ client_id: CLIENT_ID, ...parameters });
  return (await fetch(url, { method: 'POST', body })).json();
}

/** Asks the user to sign in with a browser on any device, and waits for that. */
async function signIn(): Promise<Tokens> {
  const device = await post<Device>(provider.device_authorization_endpoint, { scope: SCOPE });
  if ('error' in device) throw new Error(`The provider refused the sign-in: ${device.error}`);
  console.error(`Open ${device.verification_uri} and enter the code ${device.user_code}`);
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  for (let seconds = device.interval ?? 5; ; ) {
    await pause(seconds * 1000);
    const { device_code } = device;
    const reply = await post<Tokens>(provider.token_endpoint, { grant_type, device_code });
    if (!('error' in reply)) return store(reply);
    if (reply.error === 'slow_down') seconds += 5;
    else if (reply.error !== 'authorization_pending') throw new Error(`Not signed in: ${reply.error}`);
  }
}

/** Exchanges the refresh token, which most providers accept only once. Signs in if it is not accepted. */
async function refresh({ refresh_token }: Tokens): Promise<Tokens> {
  if (refresh_token === undefined) return signIn();
  const grant_type = 'refresh_token';
  const reply = await post<Tokens>(provider.token_endpoint, { grant_type, refresh_token });
  if (!('error' in reply)) return store({ refresh_token, ...reply });
  if (reply.error === 'invalid_grant') return signIn();
  throw new Error(`The provider did not refresh the token: ${reply.error}`);
}

/** Replaces the file, which only the user can read, in one step. */
async function store(tokens: Tokens): Promise<Tokens> {
  await rm(`${TOKEN_FILE}.new`, { force: true });
  await writeFile(`${TOKEN_FILE}.new`, JSON.stringify(tokens), { mode: 0o600, flag: 'wx' });
  await rename(`${TOKEN_FILE}.new`, TOKEN_FILE);
  return tokens;
}

const stored = await readFile(TOKEN_FILE, 'utf8').catch(() => undefined);
let tokens: Tokens = stored === undefined ? await signIn() : JSON.parse(stored);
const renewals = [refresh, signIn];
for (;;) {
  const gateway = connect(GATEWAY_URL, tokens.access_token);
  const { data, error, response } = await gateway.GET('/user/notification-preferences');
  const renew = error?.code === 'unauthenticated' ? renewals.shift() : undefined;
  if (renew) tokens = await renew(tokens);
  else if (error?.code === 'rate_limited') {
    const seconds = Number(response.headers.get('Retry-After')) + Math.random();
    console.error(`Waiting ${Math.ceil(seconds)} seconds`);
    await pause(seconds * 1000);
  } else {
    for (const { notification_kind, email_enabled } of data?.preferences ?? [])
      console.log(`${notification_kind}: ${email_enabled ? 'email' : 'no email'}`);
    if (error?.code === 'org_membership_required') console.error('Join an organization, then sign in again.');
    else if (error) console.error(error.error);
    exit(error ? 1 : 0);
  }
}
