import { createSecretKey, hash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSubscriptionCipher } from '../../src/encryption/bound-cipher.ts';
import { conflict, type Given, refused } from '../support/as.ts';
import { unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { createBrowser } from '../support/push-service.ts';
import { deleteUser, publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const encryptionKey = randomBytes(32);
const ENCRYPTION_KEYS = `k1:${encryptionKey.toString('base64')}`;
const gateway = useGateway({
  ...unreachableProviders,
  PUSH_ALLOWED_HOSTS: 'localhost:8443',
  ENCRYPTION_KEYS,
  DELIVERY: 'false',
  LOG_LEVEL: 'trace',
});
const { as } = gateway;

const endpointOf = (name: string) => `https://push.example.com/send/${name}`;
/** What `PushSubscription.toJSON()` returns in a browser. */
const subscriptionAt = (endpoint: string, { keys } = createBrowser()) => ({
  endpoint,
  expirationTime: null,
  keys,
});
/** Registers the endpoint of a name. */
const register = async (user: string, name: string, browser = createBrowser()) => {
  const { ref: _, ...registered } = await as(user).registerPush(subscriptionAt(endpointOf(name), browser));
  return registered;
};
const list = (user: string) => as(user).pushSubscriptions();
const listIds = async (user: string) => (await list(user)).map(({ id }) => id);
const remove = (user: string, id: string) => as(user).removePush({ id });
const readRows = (id: string) => gateway.database.sql('select * from push_subscription where id = $1', [id]);

/** The state of a user's deliveries by target. */
async function readDeliveries(user: string): Promise<Record<string, string>> {
  const rows = await gateway.database.sql(
    `select target, state, reason from delivery where user_id = $1 and channel = 'push'`,
    [user],
  );
  return Object.fromEntries(rows.map(({ target, state, reason }) => [String(target), `${state} ${reason}`]));
}
const PENDING = 'pending null';
const REMOVED = 'cancelled target_removed';

test('a registered subscription is listed, with its ID and host only, and for dashboards', async () => {
  const registered = await register('lister', 'listed');

  expect(registered).toEqual({
    id: hash('sha256', endpointOf('listed'), 'base64url'),
    host: 'push.example.com',
    createdAt: expect.stringMatching(/Z$/),
  });
  expect(await list('lister')).toEqual([registered]);
  expect(await list('somebody')).toEqual([]);
  const query = '{ user(id: "lister") { pushSubscriptions { id host createdAt } } }';
  const { data } = await as(() => platform('platform:read')).graphql(query);
  expect(data.user.pushSubscriptions).toEqual([registered]);
});

test('endpoint and keys are stored encrypted, bound to the user', async () => {
  const browser = createBrowser();
  const { id } = await register('secretive', 'encrypted', browser);

  const secrets = [endpointOf('encrypted'), browser.keys.p256dh, browser.keys.auth];
  const [row] = await readRows(id);
  expect(JSON.stringify(row)).not.toMatch(new RegExp(secrets.join('|')));
  const cipher = createSubscriptionCipher(new Map([['k1', createSecretKey(encryptionKey)]]));
  const target = await cipher.decrypt(String(row?.ciphertext), { userId: 'secretive', id });
  expect(Object.values(target).map((secret) => secret.reveal())).toEqual(secrets);
});

test('registering an endpoint again replaces its keys and keeps `createdAt`', async () => {
  const { ref: _, ...first } = await as('twice').registerPush(subscriptionAt(endpointOf('again')));
  const [before] = await readRows(first.id);
  const expiring = { ...subscriptionAt(endpointOf('again')), expirationTime: 1_800_000_000_000.5 };

  expect(await as('twice').registerPush(expiring)).toMatchObject(first);

  const [after] = await readRows(first.id);
  expect(after?.ciphertext).not.toBe(before?.ciphertext);
  expect(await list('twice')).toEqual([first]);
});

test('an endpoint of another user moves to the one who registers it, and nothing queued is sent there', async () => {
  const { id } = await register('first-user', 'shared');
  await publish(gateway, 'first-user');
  expect(await readDeliveries('first-user')).toEqual({ [id]: PENDING });

  await register('second-user', 'shared');

  expect(await list('first-user')).toEqual([]);
  expect(await listIds('second-user')).toEqual([id]);
  await publish(gateway, 'first-user');
  await publish(gateway, 'second-user');
  expect(await readDeliveries('second-user')).toEqual({ [id]: PENDING });
  await eventually(async () => expect(await readDeliveries('first-user')).toEqual({ [id]: REMOVED }));
});

test('concurrent registrations of one endpoint by several users leave one', async () => {
  const users = Array.from({ length: 8 }, (_none, index) => `rival-${index}`);
  const registered = await Promise.all(users.map((user) => register(user, 'contested')));

  expect(new Set(registered.map(({ id }) => id)).size).toBe(1);
  expect(await readRows(registered[0]?.id ?? '')).toHaveLength(1);
});

describe('the limit of 20', () => {
  const numbers = (count: number) => Array.from({ length: count }, (_none, number) => number);
  /** Registers endpoints at once, and returns the refusals. */
  async function fill(user: string, count: number): Promise<unknown[]> {
    const registering = numbers(count).map((number) => register(user, `${user}-${number}`));
    const results = await Promise.allSettled(registering);
    return results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  }
  const full = {
    message: expect.stringContaining(
      'The user has 20 push subscriptions. Remove one with `removePushSubscription`.',
    ),
    ...conflict('LIMIT_REACHED'),
    errors: [{ location: 'input', message: 'exceeds the limit of 20 subscriptions per user' }],
  };

  test('refuses the 21st, although all are registered at once', async () => {
    expect(await fill('collector', 25)).toMatchObject(Array(5).fill(full));
    expect(await list('collector')).toHaveLength(20);
  });

  test('does not prevent replacing keys, and ends when one is removed', async () => {
    await fill('full', 20);
    for (const number of numbers(20)) await register('full', `full-${number}`);
    await expect(register('full', 'another')).rejects.toMatchObject(full);

    await remove('full', (await listIds('full'))[0] ?? '');

    await register('full', 'another');
    expect(await list('full')).toHaveLength(20);
  });

  test('refuses to move another user’s endpoint, which stays', async () => {
    await fill('hoarder', 20);
    const { id } = await register('keeper', 'kept');

    await expect(register('hoarder', 'kept')).rejects.toMatchObject(full);
    expect(await listIds('keeper')).toEqual([id]);
  });
});

describe('removing', () => {
  test('cancels what is queued for the subscription, and nothing else', async () => {
    const one = await register('remover', 'removed');
    const two = await register('remover', 'remains');
    await publish(gateway, 'remover');

    expect(await remove('remover', one.id)).toBe(true);

    expect(await list('remover')).toEqual([two]);
    await eventually(async () =>
      expect(await readDeliveries('remover')).toEqual({ [one.id]: REMOVED, [two.id]: PENDING }),
    );
    expect(await remove('remover', one.id)).toBe(false);
  });

  test("does not remove another user's subscription, and deleting the user does", async () => {
    const { id } = await register('owner', 'owned');

    expect(await remove('intruder', id)).toBe(false);
    expect(await listIds('owner')).toEqual([id]);
    await deleteUser(gateway, 'owner');
    expect(await readRows(id)).toEqual([]);
  });
});

describe('rules', () => {
  const good = subscriptionAt('https://SECRETHOST.example.com/SECRET');
  const { keys } = good;
  const url = 'must be an https URL';
  const address = 'must have a public address';
  const point = 'must be an uncompressed point on P-256, base64url';
  const secret = 'must be 16 bytes, base64url';

  /** Expects a refusal, and no value in any reply. */
  async function expectRefused(input: Given<typeof good>, refusal: object): Promise<void> {
    const refused: unknown = await as('strict')
      .registerPush(input)
      .catch((error: unknown) => error);
    expect(refused).toMatchObject(refusal);
    expect(String(refused)).not.toContain('SECRET');
    expect(await list('strict')).toEqual([]);
  }

  test.each<[endpoint: string, message: string]>([
    ['http://SECRET.example.com/', url],
    ['SECRET', url],
    ['https://SECRET.example.com:444/', 'must use port 443'],
    ['https://10.0.0.1/SECRET', address],
    ['https://[::ffff:127.0.0.1]/SECRET', address],
    [`https://a.example.com/SECRET${'x'.repeat(2048)}`, 'must have at most 2048 characters'],
  ])('refuses the endpoint %s with its location and without its value', async (endpoint, message) => {
    const refusal = refused('VALIDATION_FAILED', ['input.endpoint', message]);
    await expectRefused({ ...good, endpoint }, refusal);
  });

  test.each<[what: string, key: 'p256dh' | 'auth', value: string, message: string]>([
    ['a point off the curve', 'p256dh', Buffer.alloc(65, 4).toString('base64url'), point],
    ['base64 with other characters', 'p256dh', `${keys.p256dh}=SECRET`, point],
    ['a short secret', 'auth', 'SECRET', secret],
    ['a long secret', 'auth', randomBytes(17).toString('base64url'), secret],
  ])('refuses %s with its location and without its value', async (_what, key, value, message) => {
    const refusal = refused('VALIDATION_FAILED', [`input.keys.${key}`, message]);
    await expectRefused({ ...good, keys: { ...keys, [key]: value } }, refusal);
  });

  test.each<[what: string, input: object]>([
    ['a number as endpoint', { ...good, endpoint: 5 }],
    ['an expiration that is no number', { ...good, expirationTime: 'SECRET' }],
    ['no keys', { endpoint: good.endpoint }],
    ['keys in the wrong place', { endpoint: good.endpoint, p256dh: 'SECRET', auth: 'SECRET' }],
    ['an unknown key', { ...good, keys: { ...keys, other: 'SECRET' } }],
  ])('refuses %s without repeating any value', async (_what, input) => {
    await expectRefused(input, { code: 'VALIDATION_FAILED' });
  });

  test('an endpoint whose host and port are in PUSH_ALLOWED_HOSTS need not use port 443 or a public address', async () => {
    const { host } = await as('allowed').registerPush(subscriptionAt('https://localhost:8443/x'));

    expect(host).toBe('localhost:8443');
  });

  test('no log line contains an endpoint or a key', async () => {
    await as('logged').registerPush(good);
    const lines = gateway.logLines().join('\n');

    expect(lines).toContain('registerPushSubscription');
    for (const value of ['SECRET', 'push.example.com', keys.p256dh, keys.auth])
      expect(lines).not.toContain(value);
  });
});

test('pushPublicKey is the applicationServerKey of the private key', async () => {
  expect(await as('reader').pushPublicKey()).toBe(
    'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
  );
});

test('without push, the key is null, nothing can be registered, and what is stored can be removed', async () => {
  const stored = await register('earlier', 'earlier');
  const other = await startTestGateway({ ENCRYPTION_KEYS }, gateway.database);
  const user = other.as('earlier');
  expect(await user.pushPublicKey()).toBeNull();
  await expect(user.registerPush(subscriptionAt(endpointOf('later')))).rejects.toMatchObject({
    message: expect.stringContaining('Push is not configured on this gateway.'),
    ...conflict('NOT_CONFIGURED'),
  });
  expect(await user.pushSubscriptions()).toEqual([stored]);
  expect(await user.removePush({ id: stored.id })).toBe(true);
  await other.close();
});
