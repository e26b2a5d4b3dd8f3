import { isIP } from 'node:net';
import pg from 'pg';
import { OperatorError, readSystemErrorCode } from '../errors/failure.ts';

/** Describes the database of a URL by its name, host and port, as pg resolves them. */
export function describeDatabase(url: string): string {
  const address = new URL(url);
  const parameters = [...address.searchParams].filter(([name]) => name === 'host' || name === 'port');
  // Other parameters name files, which pg would read.
  address.search = new URLSearchParams(parameters).toString();
  const { database, host, port } = new pg.Client({ connectionString: address.href });
  return `the database "${database}" at ${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/**
 * Describes why a database cannot be used, in one line without the password of the URL. Returns undefined for an error
 * that is not of the connection.
 */
export function describeConnectionFailure(url: string, error: unknown): OperatorError | undefined {
  const known = failures.get(readSystemErrorCode(error) ?? '');
  return known && createError(url, error, ...known);
}

/** Describes a failure to connect, like {@link describeConnectionFailure}. */
export function toConnectionError(url: string, error: unknown): OperatorError {
  const message = readMessage(error);
  const known = describeConnectionFailure(url, error);
  if (known !== undefined) return known;
  if (message.includes('unsupported startup parameter')) return createError(url, error, POOLER);
  if (message.includes('does not support SSL')) return createError(url, error, TLS);
  if (readSystemErrorCode(error) === 'ENOENT') return createError(url, error, FILES);
  if (message.startsWith('SASL')) return createError(url, error, PASSWORD, 'PostgreSQL requires a password');
  return createError(url, error, SERVER);
}

const SERVER =
  'Check that PostgreSQL is running there and accepts connections, or correct the host and port in DATABASE_URL.';
const PASSWORD =
  'Correct the user and password in DATABASE_URL; special characters must be percent-encoded ("@" as %40).';
const POOLER = 'Configure PgBouncer as described in docs/scaling.md, or connect to PostgreSQL directly.';
const FILES = 'Correct the path of the socket or certificate in DATABASE_URL.';
const TLS =
  'Enable TLS in PostgreSQL (ssl = on), or remove sslmode from DATABASE_URL if the network is trusted.';
const CERTIFICATE =
  "Set sslrootcert in DATABASE_URL to the file with the certificate of the authority that issued the server's.";
const UNTRUSTED = 'the certificate of the server is not trusted';
const SLOTS =
  'Raise max_connections of PostgreSQL, lower DATABASE_POOL_SIZE, or stop programs that use connections.';

/**
 * What the operator can do about a failure, by the code of Node.js or PostgreSQL. Node.js's messages of these failures
 * repeat the address; PostgreSQL's are used as they are.
 */
const failures = new Map<string, readonly [advice: string, reason?: string]>([
  ['ECONNREFUSED', [SERVER, 'connection refused']],
  ['ENOTFOUND', ['Correct the host in DATABASE_URL, or check the name server.', 'unknown host name']],
  ['EAI_AGAIN', ['Check the name server, or the host in DATABASE_URL.', 'the name server did not respond']],
  ['ECONNRESET', [SERVER, 'connection lost']],
  ['3D000', ['Create it, or correct the name in DATABASE_URL.']],
  ['28P01', [PASSWORD]],
  ['53300', [SLOTS]],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', [CERTIFICATE, UNTRUSTED]],
  ['SELF_SIGNED_CERT_IN_CHAIN', [CERTIFICATE, UNTRUSTED]],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', [CERTIFICATE, UNTRUSTED]],
  ['CERT_HAS_EXPIRED', ['Renew the certificate of the server.']],
  ['ERR_TLS_CERT_ALTNAME_INVALID', ['Use a host in DATABASE_URL that the certificate of the server names.']],
  // PostgreSQL is stopping or starting.
  ['57P01', [SERVER]],
  ['57P03', [SERVER]],
]);

function createError(
  url: string,
  cause: unknown,
  advice: string,
  reason = readMessage(cause),
): OperatorError {
  return new OperatorError(`Connecting to ${describeDatabase(url)} failed: ${reason}. ${advice}`, { cause });
}

/** Returns the message of an error, in one line. */
function readMessage(error: unknown): string {
  // Node.js reports failed connections to a host with several addresses as an `AggregateError` without a message.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const message = first instanceof Error ? first.message : String(first);
  return message.replace(/\s+/g, ' ').replace(/\.$/, '');
}
