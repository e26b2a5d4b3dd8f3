import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import { Histogram } from 'prom-client';
import { serveMercurius } from './mercurius-app.ts';

/*
 * The same with what the gateway gives besides: limits that count for each caller but are never reached, a log line for
 * each request, and a histogram of their durations, each set up as in its documentation.
 */

const duration = new Histogram({
  name: 'http_server_request_duration_seconds',
  help: 'Duration of requests.',
  labelNames: ['method', 'route', 'status'],
});

const app = fastify({ logger: true, disableRequestLogging: true });
await app.register(rateLimit, {
  max: 100_000_000,
  timeWindow: '1 minute',
  hook: 'preHandler',
  keyGenerator: ({ caller }) => caller?.userId ?? '',
});
app.addHook(
  'onResponse',
  async ({ method, routeOptions, caller, log }, { statusCode: status, elapsedTime }) => {
    const { url: route = '' } = routeOptions;
    duration.observe({ method, route, status }, elapsedTime / 1000);
    log.info({ method, route, user: caller?.userId, status, durationMs: elapsedTime }, 'request');
  },
);

await serveMercurius(app);
