import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { MetricsAccess } from '../config.ts';
import { UnauthenticatedError } from '../errors/gateway-errors.ts';
import type { Secret } from '../values/secret.ts';

/** The path of the metrics. */
export const METRICS_PATH = '/metrics';

/**
 * Sends the metrics in the Prometheus text format.
 * @throws {UnauthenticatedError} if a token is configured and the request lacks it
 */
export async function serveMetrics(
  request: IncomingMessage,
  response: ServerResponse,
  registry: Registry,
  access: MetricsAccess,
): Promise<void> {
  if (access.kind === 'token') checkToken(request, access.token);
  const text = await registry.metrics();
  response.writeHead(200, {
    'Content-Type': registry.contentType,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
  });
  response.end(text);
}

function checkToken({ headers: { authorization } }: IncomingMessage, token: Secret): void {
  const [, given] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (given === undefined) throw UnauthenticatedError.missingToken('no bearer token for the metrics');
  // Comparing digests of equal length takes constant time.
  if (!timingSafeEqual(digest(given), digest(token.reveal()))) {
    throw UnauthenticatedError.invalidToken('not the token of METRICS_TOKEN');
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
