import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setInterval } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeDue, registerPush, unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { publish } from '../support/records.ts';

/* Endpoints of one user that reply slowly, or never, must not delay the messages of another. */

/** Mallory's subscriptions, the maximum of a user, are divided between a host of Alice's and others. */
const ENDPOINTS = 20;
const NOTIFICATIONS = 12;
const MAX_RUNNING = 5;

const [victims, slow] = [new Map<string, number>(), new Set<ServerResponse>()];
let services: PushService[];
let database: TestDatabase;
let gateways: TestGateway[];

/** How Mallory's endpoints reply. */
let misbehave: (response: ServerResponse) => void;

beforeAll(async () => {
  const reply = (response: ServerResponse) => {
    const path = response.req.url ?? '';
    if (!path.startsWith('/mallory')) {
      victims.set(path, (victims.get(path) ?? 0) + 1);
      response.writeHead(201).end();
      return;
    }
    slow.add(response);
    response.once('close', () => slow.delete(response));
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
beforeEach(() => database.sql('delete from delivery'));

const gateway = () => gateways[0] ?? expect.unreachable();
const hostAt = (index: number) => services[index % services.length]?.host;

async function attack(): Promise<void> {
  for (let index = 0; index < ENDPOINTS; index += 1) {
    await registerPush(gateway(), 'mallory', `https://${hostAt(index)}/mallory-${index}`);
  }
  for (let index = 0; index < NOTIFICATIONS; index += 1) await publish(gateway(), 'mallory');
}

/** Publishes notifications of Alice at a steady rate, and returns when their messages arrived, in ms, sorted. */
async function measureDelays(): Promise<number[]> {
  await registerPush(gateway(), 'alice', `https://${hostAt(0)}/alice`);
  const delays: Promise<number>[] = [];
  for await (const _tick of setInterval(100)) {
    const count = (victims.get('/alice') ?? 0) + 1;
    await publish(gateway(), 'alice');
    const published = performance.now();
    delays.push(
      eventually(() => expect(victims.get('/alice') ?? 0).toBeGreaterThanOrEqual(count)).then(
        () => performance.now() - published,
      ),
    );
    if (delays.length === 30) break;
  }
  return (await Promise.all(delays)).toSorted((left, right) => left - right);
}

test.each([
  [
    'drip their reply',
    (response: ServerResponse) => {
      response.writeHead(201);
      const timer = globalThis.setInterval(() => response.write('x'), 500);
      response.once('close', () => clearInterval(timer));
    },
  ],
  ['never reply', () => undefined],
])(
  'endpoints that %s delay no message of another user',
  async (_how, how) => {
    misbehave = how;
    await attack();
    const delays = await measureDelays();
    console.log('delays', _how, 'p50', delays[15], 'max', delays.at(-1));
    expect(delays.at(-1)).toBeLessThan(2000);
  },
  120_000,
);
