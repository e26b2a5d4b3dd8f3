import { identifyJwt } from './account.ts';
import { GatewayError, signedOut } from './gateway-error.ts';
import type { InboxOptions } from './inbox-types.ts';
import type { Session } from './transport.ts';

/** The session of one account after another. */
export type AccountSession = Session & {
  /** The URL of the endpoint, with its origin if it is known. */
  readonly address: string;
  /** The name of the account; undefined before the first token. */
  readonly account: string | undefined;
  /** Aborted with a `SIGNED_OUT` error when the user signs out or another account follows. */
  readonly signal: AbortSignal;
  /** Gets a token and returns the name of its account. @throws {GatewayError} */
  identify(): Promise<string>;
  /** Ends the session. Returns one that sends with the latest token, if there was any. */
  signOut(): Session | undefined;
};

/** Creates a session without an account. `onSwitch` is called when a token is of another account than the one before. */
export function createSession(
  { url, getToken, identify = identifyJwt, initialData }: InboxOptions,
  onSwitch: () => void,
): AccountSession {
  let account = initialData?.account;
  let current = new AbortController();
  let hasSignedOut = false;
  let latest: string | undefined;

  async function requestToken(rejected?: string): Promise<string> {
    if (hasSignedOut) throw signedOut();
    try {
      return await getToken(rejected);
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      throw new GatewayError({ code: 'NO_TOKEN', message: 'Your session cannot be continued.' }, { cause });
    }
  }

  async function authorize(rejected?: string): Promise<string> {
    const token = await requestToken(rejected);
    if (hasSignedOut) throw signedOut();
    latest = token;
    const next = identify(token);
    const isOther = account !== undefined && account !== next;
    account = next;
    if (isOther) {
      current.abort(signedOut());
      current = new AbortController();
      onSwitch();
    }
    return token;
  }

  return {
    url,
    get address() {
      return new URL(url, globalThis.location?.href).href;
    },
    authorize,
    get account() {
      return account;
    },
    get signal() {
      return current.signal;
    },
    async identify() {
      return identify(await authorize());
    },
    signOut() {
      hasSignedOut = true;
      current.abort(signedOut());
      const token = latest;
      return token === undefined ? undefined : { url, authorize: async () => token };
    },
  };
}
