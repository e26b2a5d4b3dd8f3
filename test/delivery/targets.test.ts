import { createSecretKey, hash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskEmail, maskMemberId } from '../../src/delivery/contacts.ts';
import { createSubscriptionCipher } from '../../src/encryption/bound-cipher.ts';
import { emailSchema, MEMBER_ID_MESSAGE } from '../../src/values/constraints.ts';
import { conflict, refused } from '../support/as.ts';
import { unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { createBrowser } from '../support/push-service.ts';
import { deleteUser, publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

/* Where messages are sent to: contacts, which the platform puts, and push subscriptions, which browsers register. */

const encryptionKey = randomBytes(32);
const ENCRYPTION_KEYS = `k1:${encryptionKey.toString('base64')}`;
const gateway = useGateway({
  ...unreachableProviders,
  ENCRYPTION_KEYS,
  DELIVERY: 'false',
  LOG_LEVEL: 'trace',
});
const { as } = gateway;

const put = (userId: string, addresses: object) => as(platform).putContact({ userId, ...addresses });
const readContact = (userId: string) =>
  gateway.database.sql('select * from contact where user_id = $1', [userId]);

const empty = { email: null, emailSuspendedAt: null, chatMemberId: null, chatSuspendedAt: null };

test('the platform puts a contact, and the user and dashboards read it masked', async () => {
  const masked = { ...empty, userId: 'alice', email: 'a***@example.com', chatMemberId: '***3CD' };

  expect(await put('alice', { email: 'alice@example.com', chatMemberId: 'U012AB3CD' })).toEqual(masked);
  expect(await as('alice').contact()).toEqual(masked);
  const { data } = await as(platform).graphql('{ user(id: "alice") { contact { email chatMemberId } } }');
  expect(data.user.contact).toEqual({ email: 'a***@example.com', chatMemberId: '***3CD' });
  expect(await readContact('alice')).toMatchObject([
    { email: 'alice@example.com', chat_member_id: 'U012AB3CD' },
  ]);
});

test('a contact that was never put is empty, and an address that is omitted or null is removed', async () => {
  const nothing = { ...empty, userId: 'bob' };
  expect(await as('bob').contact()).toEqual(nothing);
  expect(await readContact('bob')).toEqual([]);
  const [email, chatMemberId] = ['bob@example.com', 'U012AB3CD'];
  await put('bob', { email, chatMemberId });

  expect(await put('bob', { email })).toMatchObject({ email: 'b***@example.com', chatMemberId: null });
  expect(await put('bob', { email: null, chatMemberId })).toMatchObject({ email: null });
  expect(await put('bob', {})).toEqual(nothing);
});

const EMAIL_MESSAGE = 'must be an email address of at most 254 ASCII characters';
test.each<[what: string, contact: { email: string } | { chatMemberId: string }]>([
  ['an empty address', { email: '' }],
  ['no address', { email: 'someone' }],
  ['two addresses', { email: 'a@example.com,b@example.com' }],
  ['a display name', { email: 'A <a@example.com>' }],
  ['an address with a line break', { email: 'a@example.com\r\nBcc: b@example.com' }],
  ['an address outside ASCII', { email: 'ä@example.com' }],
  ['a domain outside ASCII', { email: 'a@exämple.com' }],
  ['a quoted local part', { email: '"a b"@example.com' }],
  ['an address literal', { email: 'a@[127.0.0.1]' }],
  ['an address of 255 characters', { email: `${'a'.repeat(243)}@example.com` }],
  ['an empty member ID', { chatMemberId: '' }],
  ['a member ID with a space', { chatMemberId: 'U012 AB3CD' }],
  ['a member ID with a control character', { chatMemberId: 'U012AB3CD\n' }],
  ['a member ID outside ASCII', { chatMemberId: 'Ü012AB3CD' }],
  ['a member ID of 256 characters', { chatMemberId: 'U'.repeat(256) }],
])('rejects %s with its location but not its value', async (_what, contact) => {
  const rule: [string, string] =
    'email' in contact ? ['input.email', EMAIL_MESSAGE] : ['input.chatMemberId', MEMBER_ID_MESSAGE];
  await expect(put('eve', contact)).rejects.toMatchObject(refused('VALIDATION_FAILED', rule));
});

test('common and long email addresses and member IDs are accepted', async () => {
  const emails = ['a@example.com', "o'brien+tag/x=1@mail.example.co.uk", 'A.B_C@xn--exmple-cua.com'];
  for (const email of [...emails, 'root@localhost', `${'a'.repeat(242)}@example.com`]) {
    await put('frank', { email });
    expect(await readContact('frank')).toMatchObject([{ email }]);
  }
  const memberIds = ['U012AB3CD', 'W012AB3CD', 'C0', 'Carol-Danvers', 'dave:example.org'];
  for (const chatMemberId of [...memberIds, `U${'0'.repeat(254)}`]) {
    await put('frank', { chatMemberId });
    expect(await readContact('frank')).toMatchObject([{ chat_member_id: chatMemberId }]);
  }
});

test('neither replies nor logs contain an address', async () => {
  const replies: string[] = [];
  const send = async (query: string, variables = {}) => {
    replies.push((await as(platform).graphql(query, variables)).text);
  };
  const PUT = `mutation ($input: PutContactInput!) { putContact(input: $input) { contact { email chatMemberId } } }`;
  const email = 'heidi.MARKED@example.com';
  const chatMemberId = 'UMARKED0123';

  await send(PUT, { input: { userId: 'heidi', email, chatMemberId } });
  await send(PUT, { input: { userId: 'heidi', email: [email], mail: email } });
  await send(PUT, { input: { userId: '', email, chatMemberId } });
  await send(PUT, { input: { userId: 'heidi', email: `${email} `, chatMemberId: `${chatMemberId} ` } });
  await send(`mutation { putContact(input: { userId: "heidi", email: "${email} " }) { contact { email } } }`);
  await gateway.database.sql('alter table contact add check (length(email) < 3) not valid');
  await send(PUT, { input: { userId: 'heidi', email, chatMemberId } });
  await gateway.database.sql('alter table contact drop constraint contact_email_check');

  expect(replies.at(-1)).toContain('INTERNAL_ERROR');
  expect(replies.filter((text) => text.includes('MARKED'))).toEqual([]);
  expect(gateway.logLines().filter((line) => line.includes('MARKED'))).toEqual([]);
});

test('a masked email address reveals only its domain and at most one character of a longer local part', () => {
  const local = fc.stringMatching(/^[A-Za-z0-9.+_-]{1,64}$/);
  const domain = fc.stringMatching(/^[a-z]{1,20}(\.[a-z]{1,20}){0,2}$/);
  fc.assert(
    fc.property(local, local, domain, (one, other, domain) => {
      const email = `${one}@${domain}`;
      expect(emailSchema.safeParse(email).success).toBe(true);
      expect(maskEmail(email)).not.toContain(`${one}@`);
      const isAlike = one[0] === other[0] && one.length > 1 && other.length > 1;
      const sameMask = maskEmail(email) === maskEmail(`${other}@${domain}`);
      expect(sameMask).toBe(isAlike || (one.length === 1 && other.length === 1));
    }),
  );
});

test('a masked member ID reveals at most three characters, which are less than half of it', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[!-~]{1,255}$/), (memberId) => {
      const shown = maskMemberId(memberId).slice('***'.length);
      expect(shown.length).toBeLessThanOrEqual(3);
      expect(shown.length * 2).toBeLessThan(memberId.length);
      expect(memberId.endsWith(shown)).toBe(true);
    }),
  );
});

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
const readSubscription = (id: string) =>
  gateway.database.sql('select * from push_subscription where id = $1', [id]);

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
  const [row] = await readSubscription(id);
  expect(JSON.stringify(row)).not.toMatch(new RegExp(secrets.join('|')));
  const cipher = createSubscriptionCipher(new Map([['k1', createSecretKey(encryptionKey)]]));
  const target = await cipher.decrypt(String(row?.ciphertext), { userId: 'secretive', id });
  expect(Object.values(target).map((secret) => secret.reveal())).toEqual(secrets);
});

test('registering an endpoint again replaces its keys and keeps `createdAt`', async () => {
  const first = await register('twice', 'again');
  const [before] = await readSubscription(first.id);

  expect(await register('twice', 'again')).toEqual(first);

  expect((await readSubscription(first.id))[0]?.ciphertext).not.toBe(before?.ciphertext);
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
  expect(await readSubscription(registered[0]?.id ?? '')).toHaveLength(1);
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
    expect(await readSubscription(id)).toEqual([]);
  });
});

describe('rules', () => {
  const good = subscriptionAt('https://SECRETHOST.example.com/SECRET');
  const { keys } = good;
  const off = Buffer.alloc(65, 4).toString('base64url');
  const point = 'must be an uncompressed point on P-256, base64url';
  const secret = 'must be 16 bytes, base64url';

  test.each<[what: string, input: object, item?: [location: string, message: string]]>([
    ['HTTP', { endpoint: 'http://SECRET.example.com/' }, ['endpoint', 'must be an https URL']],
    ['another port', { endpoint: 'https://SECRET.example.com:444/' }, ['endpoint', 'must use port 443']],
    [
      'a private address',
      { endpoint: 'https://10.0.0.1/SECRET' },
      ['endpoint', 'must have a public address'],
    ],
    ['a point off the curve', { keys: { ...keys, p256dh: off } }, ['keys.p256dh', point]],
    [
      'base64 with other characters',
      { keys: { ...keys, p256dh: `${keys.p256dh}=SECRET` } },
      ['keys.p256dh', point],
    ],
    ['a short secret', { keys: { ...keys, auth: 'SECRET' } }, ['keys.auth', secret]],
    ['a number as endpoint', { endpoint: 5 }],
    ['an expiration that is no number', { expirationTime: 'SECRET' }],
    ['no keys', { keys: undefined }],
    ['an unknown key', { keys: { ...keys, other: 'SECRET' } }],
  ])('refuses %s with its location, and repeats no value', async (_what, input, item) => {
    const refusal: unknown = await as('strict')
      .registerPush({ ...good, ...input })
      .catch((error: unknown) => error);
    const items: [string, string][] = item === undefined ? [] : [[`input.${item[0]}`, item[1]]];
    expect(refusal).toMatchObject(refused('VALIDATION_FAILED', ...items));
    expect(String(refusal)).not.toContain('SECRET');
    expect(await list('strict')).toEqual([]);
  });

  test('no log line contains an endpoint or a key', async () => {
    await as('logged').registerPush(good);
    const lines = gateway.logLines().join('\n');

    expect(lines).toContain('registerPushSubscription');
    for (const value of ['SECRET', 'push.example.com', keys.p256dh, keys.auth])
      expect(lines).not.toContain(value);
  });
});

test('pushPublicKey is the applicationServerKey; without push, it is null, nothing can be registered, and what is stored can be removed', async () => {
  const publicKey = 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8';
  expect(await as('earlier').pushPublicKey()).toBe(publicKey);
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
