import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Browser, createBrowser, type PushService, startPushService } from '../support/push-service.ts';
import { asMember, publish } from '../support/records.ts';

let status = 201;
let service: PushService;
let gateway: TestGateway;
beforeEach(async () => {
  status = 201;
  service = await startPushService((response) => void response.writeHead(status).end());
  gateway = await startTestGateway({
    VAPID_PRIVATE_KEY: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
    VAPID_SUBJECT: 'mailto:ops@example.com',
    PUSH_ALLOWED_HOSTS: service.host,
    APP_URL: 'https://app.example.com/inbox/{id}',
  });
});
afterEach(async () => {
  await gateway.close();
  await service.close();
});

const register = (user: string, path: string, { keys }: Browser) =>
  asMember(
    gateway,
    user,
    'mutation ($input: RegisterPushSubscriptionInput!) { registerPushSubscription(input: $input) { __typename } }',
    { input: { endpoint: `https://${service.host}${path}`, expirationTime: null, keys } },
  );
const listSubscriptions = async (user: string) =>
  (await asMember(gateway, user, '{ pushSubscriptions { id } }')).pushSubscriptions;
const listStates = async (user: string) =>
  (await gateway.database.sql('select state from delivery where user_id = $1', [user])).map(
    (row) => row.state,
  );

test("delivers a published notification to all of the user's browsers, and to no other user's", async () => {
  const [desktop, phone, other] = [createBrowser(), createBrowser(), createBrowser()];
  await register('alice', '/desktop', desktop);
  await register('alice', '/phone', phone);
  await register('bob', '/other', other);

  const { id } = await publish(gateway, 'alice', 'plan_requested', { title: 'Add a login page' });

  await eventually(async () => expect(await listStates('alice')).toEqual(['delivered', 'delivered']));
  const received = new Map(service.requests.map(({ url, body }) => [url, body]));
  expect([...received.keys()].sort()).toEqual(['/desktop', '/phone']);
  for (const [path, browser] of [
    ['/desktop', desktop],
    ['/phone', phone],
  ] as const) {
    expect(JSON.parse(browser.decrypt(received.get(path) ?? Buffer.of()))).toMatchObject({
      notificationId: id,
      kind: 'plan_requested',
      title: 'Add a login page',
      url: `https://app.example.com/inbox/${id}`,
    });
  }
});

test('a subscription that the push service no longer has is removed', async () => {
  status = 410;
  await register('alice', '/gone', createBrowser());

  await publish(gateway, 'alice');

  await eventually(async () => expect(await listSubscriptions('alice')).toEqual([]));
  expect(await listStates('alice')).toEqual(['failed']);
  await publish(gateway, 'alice');
  expect(await listStates('alice')).toEqual(['failed']);
  expect(service.requests).toHaveLength(1);
});

test('the log contains no endpoints, keys or notification text', async () => {
  const browser = createBrowser();
  await register('alice', '/SECRET', browser);
  await publish(gateway, 'alice', 'plan_requested', { title: 'SECRET title' });
  await eventually(async () => expect(await listStates('alice')).toEqual(['delivered']));

  const lines = gateway.logLines().join('\n');
  expect(lines).toContain('delivered');
  for (const value of ['SECRET', browser.keys.p256dh, browser.keys.auth]) expect(lines).not.toContain(value);
});
