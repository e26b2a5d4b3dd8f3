import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Response, Router } from 'express';
import type { Registry } from 'prom-client';
import type { KeySet } from '../auth/key-set.ts';
import type { Config, MetricsAccess } from '../config.ts';
import type { Database } from '../database/database.ts';
import { findSchemaProblem } from '../database/schema-compatibility.ts';
import {
  errorHeaders,
  GatewayError,
  httpStatus,
  InternalError,
  UnauthenticatedError,
} from '../errors/gateway-errors.ts';
import { sendText } from '../http/messages.ts';
import type { LiveEvents } from '../live/live-events.ts';
import { type Log, logHiddenCause } from '../log.ts';
import type { Secret } from '../values/secret.ts';
import { listen } from './listen.ts';

/** The path of the metrics. */
export const METRICS_PATH = '/metrics';

/** The parts of a gateway that determine its readiness. */
export type Readiness = {
  database: Database;
  isStopping(): boolean;
  live: Pick<LiveEvents, 'problem'>;
  keySet: Pick<KeySet, 'problem'>;
};

/**
 * Routes health, readiness and metrics. `access` is that of the port that serves them: metrics fail with an
 * `UnauthenticatedError` if it has a token and the request lacks it.
 */
export function createMonitoring(
  readiness: Readiness,
  registry: Registry,
  access: MetricsAccess,
  findLog: (response: Response) => Log,
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  // Replies while the process is running, whatever the state of its dependencies.
  router.get('/healthz', (_request, response) => sendStatus(response, 200, { status: OK }));
  router.get('/readyz', (_request, response) => serveReadiness(response, readiness, findLog(response)));
  if (access.kind === 'off') return router;
  router.get(METRICS_PATH, async (request, response) => {
    if (access.kind === 'token') checkToken(request, access.token);
    const text = await registry.metrics();
    response.writeHead(200, {
      'Content-Type': registry.contentType,
      'Content-Length': Buffer.byteLength(text),
      'Cache-Control': 'no-store',
    });
    response.end(text);
  });
  return router;
}

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
  const monitoring = createMonitoring(readiness, registry, metrics, () => log);
  const app = express().disable('x-powered-by');
  // By default, Express also replies to HEAD and OPTIONS.
  app.use((request, response, next) =>
    request.method === 'GET' ? monitoring(request, response, next) : next(),
  );
  app.use((_request, response) => sendText(response, 404, 'text/plain', 'Not found.\n'));
  const sendFailure: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
    const shown = error instanceof GatewayError ? error : new InternalError(error);
    logHiddenCause(log, shown);
    if (response.headersSent) return response.destroy();
    response.setHeaders(new Map(Object.entries(errorHeaders(shown))));
    sendText(response, httpStatus[shown.code], 'text/plain', `${shown.message}\n`);
  };
  app.use(sendFailure);
  const server = createServer(app);
  return {
    address: await listen(server, admin, { host: 'ADMIN_HOST', port: 'ADMIN_PORT' }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The state of a part without a problem. */
const OK = 'ok';

/** The state of a database behind a pooler that loses prepared statements. */
const NO_PREPARED_STATEMENTS =
  'prepared statements fail: connect directly, or through PgBouncer in session mode, or 1.21 with max_prepared_statements';

/**
 * Replies 200 if the gateway can serve requests: the process is not stopping, the database is reachable and its
 * schema fits this version, and the key set is usable; otherwise 503. The state of live events is only informational,
 * because all other requests are served while they are interrupted.
 */
async function serveReadiness(response: ServerResponse, from: Readiness, log: Log): Promise<void> {
  const required = {
    process: from.isStopping() ? 'is stopping' : OK,
    ...(await checkDatabase(from.database, log)),
    key_set: from.keySet.problem?.() ?? OK,
  };
  const isReady = Object.values(required).every((state) => state === OK);
  const checks = { ...required, live_events: from.live.problem ?? OK };
  sendStatus(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', checks });
}

/**
 * Checks the database and its schema, which another version may have changed since the start. The pool's timeout limits
 * how long this takes.
 */
async function checkDatabase(database: Database, log: Log) {
  try {
    const problem = await findSchemaProblem(database);
    if (problem !== undefined) log.warn({ problem }, 'readiness check failed');
    return {
      database: (await database.supportsPreparedStatements()) ? OK : NO_PREPARED_STATEMENTS,
      migrations: problem ?? OK,
    };
  } catch (error) {
    log.warn({ err: error }, 'readiness check failed');
    return { database: 'unreachable', migrations: 'unknown' };
  }
}

function sendStatus(response: ServerResponse, status: number, body: object): void {
  response.setHeader('Cache-Control', 'no-store');
  sendText(response, status, 'application/json', JSON.stringify(body));
}

function checkToken({ headers: { authorization } }: IncomingMessage, token: Secret): void {
  const [, given] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (given === undefined) throw UnauthenticatedError.missingToken('no bearer token for the metrics');
  if (!token.matches(given)) throw UnauthenticatedError.invalidToken('not the token of METRICS_TOKEN');
}
