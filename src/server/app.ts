import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { sendError } from '../../rest/errors.ts';
import { createRestRouter, routes } from '../../rest/router.ts';
import { createPublishDraft } from '../agents/agent-requests.ts';
import { createHooks, HOOKS_PATH } from '../agents/hooks.ts';
import { createMcp, MCP_PATH } from '../agents/mcp.ts';
import { ANSWER_PATH } from '../delivery/answers/answer-link.ts';
import { INTERACTIONS_PATH } from '../delivery/answers/slack-interactions.ts';
import { UNSUBSCRIBE_PATH } from '../delivery/email/unsubscribe-token.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { reportError } from '../graphql/errors.ts';
import { resultTypes } from '../graphql/plugins/request.ts';
import { createGraphQLServer, GRAPHQL_PATH, sendGraphQLError, serveGraphQL } from '../graphql/server.ts';
import { toPattern } from '../http/messages.ts';
import { createRequestMetrics } from '../metrics/request-metrics.ts';
import { notificationKinds } from '../notifications/notification.enums.ts';
import { serveOpenApi } from '../openapi/document.ts';
import { serveGraphiql } from '../pages/graphiql.ts';
import { grantPageToken } from '../pages/graphiql-token.ts';
import { serveReference } from '../pages/reference.ts';
import type { Services } from '../services.ts';
import { createIdentifyCaller } from './caller.ts';
import { allowOrigins, checkTarget, setSecurityHeaders } from './headers.ts';
import { createMonitoring, METRICS_PATH } from './monitoring.ts';
import { createRouteNames, recordRequests } from './request-log.ts';

/**
 * Creates the app that handles all requests: the steps of every request, then the endpoints. `publicUrl` returns the URL
 * that clients use, which is known once the server listens.
 */
export function createApp(services: Services, publicUrl: () => string, isStopping: () => boolean): Express {
  const { config, log, metrics, schemas, pageKey, unsubscribe, answers, slackInteractions } = services;
  const yoga = createGraphQLServer(schemas.graphql);
  const identifyCaller = createIdentifyCaller(services.authenticate, services.shared);
  const app = express().disable('x-powered-by');

  app.use(
    recordRequests(
      log,
      createRouteNames(paths),
      createRequestMetrics(metrics, schemas.graphql, notificationKinds),
    ),
  );
  app.use(setSecurityHeaders);
  // Before the step that allows other origins to read replies.
  if (pageKey !== undefined)
    app.post(
      toPattern(PAGE_TOKEN_PATH),
      checkTarget,
      grantPageToken(config, pageKey, services.shared.readBody),
    );
  app.use(allowOrigins(config.corsOrigins, log));
  app.use(checkTarget);

  // By default, Express replies to OPTIONS with the methods of the path.
  app.options(/.*/, sendNotFound);
  if (config.graphiql) app.get(toPatterns(GRAPHQL_PATH), serveGraphiql(resultTypes, pageKey !== undefined));
  app.all(
    toPattern(GRAPHQL_PATH),
    identifyCaller({ allowsAnonymous: config.graphiql }),
    serveGraphQL(yoga),
    sendGraphQLError,
  );
  app.use(createRestRouter(schemas.rest, yoga, identifyCaller, publicUrl));
  const publishDraft = createPublishDraft(schemas.rest, yoga);
  const hooks = createHooks(publishDraft);
  app.post(toPattern(HOOKS_PATH), identifyCaller({}), hooks.handle, hooks.fail);
  app.all(toPattern(MCP_PATH), identifyCaller({}), createMcp(publishDraft, log));
  // With an admin port, metrics are served only there.
  const metricsAccess = config.admin === null ? config.metrics : ({ kind: 'off' } as const);
  app.use(
    createMonitoring({ ...services, isStopping }, metrics, metricsAccess, ({ locals }) => locals.record.log),
  );
  app.get(toPattern('/openapi.json'), serveOpenApi(schemas.graphql, publicUrl));
  app.get(toPatterns('/docs'), serveReference(pageKey !== undefined));
  app.get(toPattern(UNSUBSCRIBE_PATH), unsubscribe.show);
  app.post(toPattern(UNSUBSCRIBE_PATH), unsubscribe.accept);
  app.get(toPattern(ANSWER_PATH), answers.show);
  app.post(toPattern(ANSWER_PATH), answers.accept);
  if (slackInteractions) app.post(toPattern(INTERACTIONS_PATH), slackInteractions);
  app.use(sendNotFound);
  app.use(sendFailure);
  return app;
}

/** The path at which GraphiQL exchanges its key for a token. */
const PAGE_TOKEN_PATH = `${GRAPHQL_PATH}/token`;

/** The path templates of all endpoints, which the log and the metrics use as route names. */
const pages = [
  '/docs',
  '/docs/assets/{file}',
  ANSWER_PATH,
  INTERACTIONS_PATH,
  '/openapi.json',
  PAGE_TOKEN_PATH,
  `${GRAPHQL_PATH}/assets/{file}`,
];
const monitoring = ['/healthz', '/readyz', METRICS_PATH];
const paths = [
  GRAPHQL_PATH,
  HOOKS_PATH,
  MCP_PATH,
  UNSUBSCRIBE_PATH,
  ...pages,
  ...monitoring,
  ...routes.map(({ path }) => path),
];

/** Returns the patterns of a page and its files. */
const toPatterns = (page: string) => [toPattern(page), toPattern(`${page}/assets/{file}`)];

const sendNotFound: RequestHandler = (_request, response) => sendError(response, new NotFoundError());

/** Reports an error, charges the request, and replies; closes the connection if a reply has begun. */
const sendFailure: ErrorRequestHandler = async (error: unknown, _request, response, _next) => {
  const { record, context } = response.locals;
  const shown = reportError(error, record);
  await context?.quota.chargeMinimum(context);
  if (response.headersSent) response.destroy();
  else sendError(response, shown);
};
