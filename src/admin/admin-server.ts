import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { Config } from '../config.ts';
import { errorHeaders } from '../errors/error-headers.ts';
import { GatewayError, httpStatus, InternalError } from '../errors/gateway-errors.ts';
import { listen } from '../http/listen.ts';
import { requestPath } from '../http/request-target.ts';
import { sendText } from '../http/send-text.ts';
import { type Log, logHiddenCause } from '../log.ts';
import { type Readiness, serveHealth, serveReadiness } from './health.ts';
import { METRICS_PATH, serveMetrics } from './metrics-endpoint.ts';

/** A server for health, readiness and metrics, on a port of this process only. */
export type AdminServer = { address: string; close(): void };

/** Starts the admin server; returns undefined if none is configured. */
export async function startAdminServer(
  { admin, metrics }: Pick<Config, 'admin' | 'metrics'>,
  readiness: Readiness,
  registry: Registry,
  log: Log,
): Promise<AdminServer | undefined> {
  if (admin === null) return undefined;
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.method === 'GET' ? requestPath(request) : undefined;
    if (path === '/healthz') return serveHealth(response);
    if (path === '/readyz') return serveReadiness(response, readiness, log);
    if (path !== METRICS_PATH || metrics.kind === 'off')
      return sendText(response, 404, 'text/plain', 'Not found.\n');
    return serveMetrics(request, response, registry, metrics);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => sendFailure(response, error, log));
  });
  return {
    address: await listen(server, admin, { host: 'ADMIN_HOST', port: 'ADMIN_PORT' }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Replies with an error, or closes the connection if a reply has begun. */
function sendFailure(response: ServerResponse, error: unknown, log: Log): void {
  const shown = error instanceof GatewayError ? error : new InternalError(error);
  logHiddenCause(log, shown);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const [name, value] of Object.entries(errorHeaders(shown))) response.setHeader(name, value);
  sendText(response, httpStatus[shown.code], 'text/plain', `${shown.message}\n`);
}
