import fastify from 'fastify';
import { serveMercurius } from './mercurius-app.ts';

/* Fastify with mercurius. No log is the default. */

await serveMercurius(fastify());
