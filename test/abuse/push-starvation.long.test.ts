import type { ServerResponse } from 'node:http';
import { setInterval } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { registerPush, unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { publish } from '../support/records.ts';

/* Endpoints of one user that reply slowly, or never, must not delay the messages of another. */

/** Mallory's subscriptions, the maximum of a user, are divided between a host of Alice's and others. */
const ENDPOINTS = 20;
const NOTIFICATIONS = 12;
const MAX_RUNNING = 5;

/** The number of messages of Alice. */
const MESSAGES = 30;

let received = 0;
const slow = new Set<ServerResponse>();
let mostRunning = 0;
let services: PushService[];
let database: TestDatabase;
let gateways: TestGateway[];

/** How Mallory's endpoints reply. */
let misbehave: (response: ServerResponse) => void;
let onSlow: ((response: ServerResponse) => void) | undefined;

beforeAll(async () => {
  const reply = (response: ServerResponse) => {
    const path = response.req.url ?? '';
    if (!path.startsWith('/mallory')) {
      received += 1;
      response.writeHead(201).end();
      return;
    }
    slow.add(response);
    response.once('close', () => slow.delete(response));
    mostRunning = Math.max(mostRunning, slow.size);
    onSlow?.(response);
    misbehave(response);
  };
  services = await Promise.all([1, 2, 3].map(() => startPushService(reply)));
  database = await createTestDatabase();
  const settings = {
    ...settingsFor(database),
    VAPID_PRIVATE_KEY: unreachableProviders.VAPID_PRIVATE_KEY,
    VAPID_SUBJECT: unreachableProviders.VAPID_SUBJECT,
    PUSH_ALLOWED_HOSTS: services.map(({ host }) => host).join(),
  };
  gateways = [await startTestGateway(settings, database), await startTestGateway(settings, database)];
});
afterAll(async () => {
  for (const gateway of gateways) await gateway.close();
  for (const service of services) await service.close();
  await database.drop();
});
beforeEach(async () => {
  await database.sql('delete from delivery');
  await eventually(() => expect(slow.size).toBe(0));
  mostRunning = 0;
});

const gateway = () => gateways[0] ?? expect.unreachable();
const hostAt = (index: number) => services[index % services.length]?.host;

async function attack(): Promise<void> {
  for (let index = 0; index < ENDPOINTS; index += 1) {
    await registerPush(gateway(), 'mallory', `https://${hostAt(index)}/mallory-${index}`);
  }
  for (let index = 0; index < NOTIFICATIONS; index += 1) await publish(gateway(), 'mallory');
}

/** Publishes notifications of Alice at a steady rate, and returns how long their messages took, in ms, sorted. */
async function measureDelays(): Promise<number[]> {
  await registerPush(gateway(), 'alice', `https://${hostAt(0)}/alice`);
  const before = received;
  const delays: Promise<number>[] = [];
  for await (const _tick of setInterval(100)) {
    await publish(gateway(), 'alice');
    const published = performance.now();
    const count = before + delays.length + 1;
    const arrival = eventually(() => expect(received).toBeGreaterThanOrEqual(count));
    delays.push(arrival.then(() => performance.now() - published));
    if (delays.length === MESSAGES) break;
  }
  return (await Promise.all(delays)).toSorted((left, right) => left - right);
}

test('endpoints that never reply, or drip their reply, delay no message of another user', async () => {
  misbehave = (response) => {
    if (Number(response.req.url?.split('-').at(-1)) % 2 === 0) return;
    response.writeHead(201);
    const timer = globalThis.setInterval(() => response.write('x'), 500);
    response.once('close', () => clearInterval(timer));
  };
  await attack();
  const delays = await measureDelays();

  expect(delays[MESSAGES / 2]).toBeLessThan(1000);
  expect(delays.at(-1)).toBeLessThan(3000);
});

test('each sender sends five messages of a user at once, each for at most 8 seconds', async () => {
  misbehave = () => undefined;
  const ended = new Promise<number>((resolve) => {
    onSlow = (response) => {
      const started = performance.now();
      response.once('close', () => resolve(performance.now() - started));
    };
  });
  await attack();

  const duration = await ended;
  expect(duration).toBeGreaterThan(7000);
  expect(duration).toBeLessThan(9500);
  expect(mostRunning).toBe(MAX_RUNNING * gateways.length);
});
