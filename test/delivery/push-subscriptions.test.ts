import { createSecretKey, hash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSubscriptionCipher } from '../../src/encryption/bound-cipher.ts';
import { graphql } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { createBrowser } from '../support/push-service.ts';
import { asMember, asPlatform, deleteUser, publish } from '../support/records.ts';
import { member, platform, signToken } from '../support/tokens.ts';

const VAPID_PRIVATE_KEY = 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw';
const encryptionKey = randomBytes(32);
const settings = {
  VAPID_PRIVATE_KEY,
  VAPID_SUBJECT: 'mailto:ops@example.com',
  PUSH_ALLOWED_HOSTS: 'localhost:8443',
  ENCRYPTION_KEYS: `k1:${encryptionKey.toString('base64')}`,
  DELIVERY: 'false',
  LOG_LEVEL: 'trace',
};

const gateway = useGateway(settings);

const REGISTER = `mutation ($input: RegisterPushSubscriptionInput!) {
  registerPushSubscription(input: $input) { pushSubscription { id host createdAt } }
}`;
const REMOVE = 'mutation ($id: ID!) { removePushSubscription(input: { id: $id }) { removed } }';
const LIST = '{ pushSubscriptions { id host createdAt } }';

/** What `PushSubscription.toJSON()` returns in a browser. */
const subscriptionAt = (endpoint: string, { keys } = createBrowser()) => ({
  endpoint,
  expirationTime: null,
  keys,
});
const nameEndpoint = (name: string) => `https://push.example.com/send/${name}`;
const identify = (endpoint: string) => hash('sha256', endpoint, 'base64url');

const register = async (user: string, input: object) =>
  (await asMember(gateway, user, REGISTER, { input })).registerPushSubscription.pushSubscription;
const list = async (user: string) => (await asMember(gateway, user, LIST)).pushSubscriptions;
const remove = async (user: string, id: string) =>
  (await asMember(gateway, user, REMOVE, { id })).removePushSubscription.removed;
const tryToRegister = async (user: string, input: object, at = gateway) =>
  graphql(at, REGISTER, { input }, { token: await member(user) });

/** The state of a user's deliveries by target. */
async function listDeliveries(user: string): Promise<Record<string, string>> {
  const rows = await gateway.database.sql(
    `select target, state, reason from delivery where user_id = $1 and channel = 'push'`,
    [user],
  );
  return Object.fromEntries(rows.map(({ target, state, reason }) => [String(target), `${state} ${reason}`]));
}

test('a registered subscription is listed, with its ID and host only', async () => {
  const endpoint = nameEndpoint('listed');
  const registered = await register('lister', subscriptionAt(endpoint));

  expect(registered).toEqual({
    id: identify(endpoint),
    host: 'push.example.com',
    createdAt: expect.stringMatching(/Z$/),
  });
  expect(await list('lister')).toEqual([registered]);
  expect(await list('somebody')).toEqual([]);
});

test("lists another user's subscriptions for a dashboard, and not for another user", async () => {
  const registered = await register('viewed', subscriptionAt(nameEndpoint('viewed')));

  const token = await platform('platform:read');
  const query = `{ user(id: "viewed") ${LIST} }`;
  const { data } = await graphql(gateway, query, {}, { token });
  expect(data.user.pushSubscriptions).toEqual([registered]);
  const other = await graphql(gateway, query, {}, { token: await member('other') });
  expect(other.errors[0].extensions.code).toBe('FORBIDDEN');
});

test('endpoint and keys are stored encrypted, bound to the user', async () => {
  const endpoint = nameEndpoint('encrypted');
  const browser = createBrowser();
  const { id } = await register('secretive', subscriptionAt(endpoint, browser));

  const [row] = await gateway.database.sql('select * from push_subscription where id = $1', [id]);
  expect(JSON.stringify(row)).not.toMatch(new RegExp(`${endpoint}|${Object.values(browser.keys).join('|')}`));
  const cipher = createSubscriptionCipher(new Map([['k1', createSecretKey(encryptionKey)]]));
  const target = await cipher.decrypt(String(row?.ciphertext), { userId: 'secretive', id });
  expect(Object.values(target).map((secret) => secret.reveal())).toEqual([
    endpoint,
    browser.keys.p256dh,
    browser.keys.auth,
  ]);
});

test('registering an endpoint again replaces its keys and keeps `createdAt`', async () => {
  const endpoint = nameEndpoint('again');
  const first = await register('twice', subscriptionAt(endpoint));
  const [before] = await gateway.database.sql('select * from push_subscription where id = $1', [first.id]);
  const expiring = { ...subscriptionAt(endpoint), expirationTime: 1_800_000_000_000.5 };

  expect(await register('twice', expiring)).toEqual(first);

  const [after] = await gateway.database.sql('select * from push_subscription where id = $1', [first.id]);
  expect(after?.ciphertext).not.toBe(before?.ciphertext);
  expect(await list('twice')).toEqual([first]);
});

test('an endpoint of another user moves to the one who registers it, and nothing queued is sent there', async () => {
  const endpoint = nameEndpoint('shared');
  const { id } = await register('first-user', subscriptionAt(endpoint));
  await publish(gateway, 'first-user');
  expect(await listDeliveries('first-user')).toEqual({ [id]: 'pending null' });

  await register('second-user', subscriptionAt(endpoint));

  expect(await list('first-user')).toEqual([]);
  expect((await list('second-user')).map((entry: { id: string }) => entry.id)).toEqual([id]);
  await publish(gateway, 'first-user');
  await publish(gateway, 'second-user');
  expect(await listDeliveries('second-user')).toEqual({ [id]: 'pending null' });
  await eventually(async () =>
    expect(await listDeliveries('first-user')).toEqual({ [id]: 'cancelled target_removed' }),
  );
});

test('concurrent registrations of one endpoint by several users leave one', async () => {
  const endpoint = nameEndpoint('contested');
  const users = Array.from({ length: 8 }, (_none, index) => `rival-${index}`);
  await Promise.all(users.map((user) => register(user, subscriptionAt(endpoint))));

  const rows = await gateway.database.sql('select user_id from push_subscription where id = $1', [
    identify(endpoint),
  ]);
  expect(rows).toHaveLength(1);
});

describe('the limit of 20', () => {
  const fill = (user: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_none, index) =>
        tryToRegister(user, subscriptionAt(nameEndpoint(`${user}-${index}`))),
      ),
    );

  test('refuses the 21st, although all are registered at once', async () => {
    const replies = await fill('collector', 25);

    const refused = replies.flatMap(({ errors }) => errors);
    expect(refused).toHaveLength(5);
    expect(await list('collector')).toHaveLength(20);
    expect(refused[0]).toMatchObject({
      message: 'The user has 20 push subscriptions. Remove one with `removePushSubscription`.',
      extensions: {
        code: 'CONFLICT',
        reason: 'LIMIT_REACHED',
        errors: [{ location: 'input', message: 'exceeds the limit of 20 subscriptions per user' }],
      },
    });
  });

  test('does not prevent replacing keys, and ends when one is removed', async () => {
    await fill('full', 20);
    const [first] = await list('full');
    const known = Array.from({ length: 20 }, (_none, index) => nameEndpoint(`full-${index}`));
    for (const endpoint of known) await register('full', subscriptionAt(endpoint));
    const another = subscriptionAt(nameEndpoint('full-another'));
    expect((await tryToRegister('full', another)).errors[0].extensions.code).toBe('CONFLICT');

    await remove('full', first.id);

    expect((await tryToRegister('full', another)).errors).toEqual([]);
    expect(await list('full')).toHaveLength(20);
  });

  test('refuses to move another user’s endpoint, which stays', async () => {
    await fill('hoarder', 20);
    const { id } = await register('keeper', subscriptionAt(nameEndpoint('kept')));

    const { errors } = await tryToRegister('hoarder', subscriptionAt(nameEndpoint('kept')));

    expect(errors[0].extensions.code).toBe('CONFLICT');
    expect((await list('keeper')).map((entry: { id: string }) => entry.id)).toEqual([id]);
  });
});

describe('removing', () => {
  test('cancels what is queued for the subscription, and nothing else', async () => {
    const one = await register('remover', subscriptionAt(nameEndpoint('removed')));
    const two = await register('remover', subscriptionAt(nameEndpoint('remains')));
    await publish(gateway, 'remover');

    expect(await remove('remover', one.id)).toBe(true);

    expect(await list('remover')).toEqual([two]);
    await eventually(async () =>
      expect(await listDeliveries('remover')).toEqual({
        [one.id]: 'cancelled target_removed',
        [two.id]: 'pending null',
      }),
    );
    expect(await remove('remover', one.id)).toBe(false);
  });

  test("does not remove another user's subscription", async () => {
    const { id } = await register('owner', subscriptionAt(nameEndpoint('owned')));

    expect(await remove('intruder', id)).toBe(false);
    expect(await list('owner')).toHaveLength(1);
  });

  test('deleting the user removes the subscriptions', async () => {
    const { id } = await register('leaver', subscriptionAt(nameEndpoint('left')));
    await deleteUser(gateway, 'leaver');

    expect(await gateway.database.sql('select from push_subscription where id = $1', [id])).toEqual([]);
  });
});

describe('rules', () => {
  const good = subscriptionAt('https://SECRETHOST.example.com/SECRET');
  const { keys } = good;
  const hidden = '[redacted]';

  test.each<[what: string, input: object, location: string, message: string]>([
    ['http', { endpoint: 'http://SECRET.example.com/' }, 'input.endpoint', 'must be an https URL'],
    ['no URL', { endpoint: 'SECRET' }, 'input.endpoint', 'must be an https URL'],
    ['a port', { endpoint: 'https://SECRET.example.com:444/' }, 'input.endpoint', 'must use port 443'],
    [
      'a private address',
      { endpoint: 'https://10.0.0.1/SECRET' },
      'input.endpoint',
      'must have a public address',
    ],
    [
      'a mapped address',
      { endpoint: 'https://[::ffff:127.0.0.1]/SECRET' },
      'input.endpoint',
      'must have a public address',
    ],
    [
      'a long endpoint',
      { endpoint: `https://a.example.com/SECRET${'x'.repeat(2048)}` },
      'input.endpoint',
      'must have at most 2048 characters',
    ],
    [
      'a point off the curve',
      { keys: { ...keys, p256dh: Buffer.alloc(65, 4).toString('base64url') } },
      'input.keys.p256dh',
      'must be an uncompressed point on P-256, base64url',
    ],
    [
      'base64 with other characters',
      { keys: { ...keys, p256dh: `${keys.p256dh}=SECRET` } },
      'input.keys.p256dh',
      'must be an uncompressed point on P-256, base64url',
    ],
    [
      'a short secret',
      { keys: { ...keys, auth: 'SECRET' } },
      'input.keys.auth',
      'must be 16 bytes, base64url',
    ],
    [
      'a long secret',
      { keys: { ...keys, auth: randomBytes(17).toString('base64url') } },
      'input.keys.auth',
      'must be 16 bytes, base64url',
    ],
  ])('%s is rejected with its location and without its value', async (_what, changes, location, message) => {
    const { errors, text } = await tryToRegister('strict', { ...good, ...changes });

    expect(errors).toHaveLength(1);
    expect(errors[0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [{ location, message, value: hidden }],
    });
    expect(text).not.toContain('SECRET');
    expect(await list('strict')).toEqual([]);
  });

  test.each<[what: string, input: object]>([
    ['a number as endpoint', { ...good, endpoint: 5 }],
    ['an expiration that is no number', { ...good, expirationTime: 'SECRET' }],
    ['no keys', { endpoint: good.endpoint }],
    ['keys in the wrong place', { endpoint: good.endpoint, p256dh: 'SECRET', auth: 'SECRET' }],
    ['an unknown key', { ...good, keys: { ...keys, other: 'SECRET' } }],
  ])('%s is rejected without repeating any value', async (_what, input) => {
    const { errors, text } = await tryToRegister('strict', input);

    expect(errors[0].extensions.code).toBe('VALIDATION_FAILED');
    expect(text).not.toContain('SECRET');
    expect(await list('strict')).toEqual([]);
  });

  test('an endpoint whose host and port are in PUSH_ALLOWED_HOSTS need not use port 443 or a public address', async () => {
    const { host } = await register('allowed', subscriptionAt('https://localhost:8443/x'));

    expect(host).toBe('localhost:8443');
  });

  test('no log line contains an endpoint or a key', async () => {
    await tryToRegister('logged', good);
    const lines = gateway.logLines().join('\n');

    expect(lines).toContain('registerPushSubscription');
    for (const value of ['SECRET', 'push.example.com', keys.p256dh, keys.auth]) {
      expect(lines).not.toContain(value);
    }
  });
});

describe('configuration', () => {
  test('pushPublicKey is the applicationServerKey of the private key', async () => {
    const token = await signToken({ sub: 'reader', scope: 'account:read' });
    const { data } = await graphql(gateway, '{ pushPublicKey }', {}, { token });

    expect(data.pushPublicKey).toBe(
      'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
    );
  });

  test('without push, the key is null, nothing can be registered, and what is stored can be removed', async () => {
    const stored = await register('earlier', subscriptionAt(nameEndpoint('earlier')));
    const other = await startTestGateway({ ENCRYPTION_KEYS: settings.ENCRYPTION_KEYS }, gateway.database);
    try {
      expect((await asMember(other, 'earlier', '{ pushPublicKey }')).pushPublicKey).toBeNull();
      const { errors } = await tryToRegister('earlier', subscriptionAt(nameEndpoint('later')), other);
      expect(errors[0]).toMatchObject({
        message: 'Push is not configured on this gateway.',
        extensions: { code: 'CONFLICT', reason: 'NOT_CONFIGURED' },
      });
      expect((await asMember(other, 'earlier', LIST)).pushSubscriptions).toEqual([stored]);
      const removed = await asMember(other, 'earlier', REMOVE, { id: stored.id });
      expect(removed.removePushSubscription).toEqual({ removed: true });
    } finally {
      await other.close();
    }
  });

  test('a platform token without account scopes cannot register', async () => {
    await expect(
      asPlatform(gateway, REGISTER, { input: subscriptionAt(nameEndpoint('platform')) }),
    ).rejects.toThrow('account:write');
  });
});
