import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeChanges } from '../../src/notifications/preferences/preferences.ts';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { type Kind, notification, payloads } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const path = '/user/notification-preferences';
const kinds = Object.keys(payloads) as Kind[];
const on = { email_enabled: true, push_enabled: true, chat_dm_enabled: true };
const off = { email_enabled: false, push_enabled: false, chat_dm_enabled: false };

type Change = Partial<typeof on> & { notification_kind?: Kind | null };
type Preference = typeof on & {
  notification_kind: Kind;
  user_id: string;
  created_at?: string;
  updated_at?: string;
};

const read = async (userId: string): Promise<Preference[]> =>
  (await as(userId).rest.get(path)).body.preferences;

/** Changes preferences over REST, and returns them all. */
async function change(method: 'put' | 'patch', userId: string, preferences: Change[]): Promise<Preference[]> {
  const reply = await as(userId).rest[method](path, { preferences });
  expect(reply.status, reply.text).toBe(200);
  return reply.body.preferences;
}
const put = (userId: string, ...preferences: Change[]) => change('put', userId, preferences);

const formatChannels = (preferences: Preference[]) =>
  Object.fromEntries(
    preferences.map((item) => [
      item.notification_kind,
      `${item.email_enabled} ${item.push_enabled} ${item.chat_dm_enabled}`,
    ]),
  );
const everyKind = (channels: string) => Object.fromEntries(kinds.map((kind) => [kind, channels]));

test('all channels are on by default, without timestamps, and reading stores nothing', async () => {
  const expected = kinds.map((notification_kind) => ({ notification_kind, ...on, user_id: 'new' }));
  expect(await read('new')).toStrictEqual(expected);
  const query = '{ notificationPreferences { createdAt updatedAt } }';
  const { data } = await as('new').graphql(query);
  expect(data.notificationPreferences).toEqual(kinds.map(() => ({ createdAt: null, updatedAt: null })));
  const rows = await gateway.database.sql(`select from notification_preference where user_id = 'new'`);
  expect(rows).toEqual([]);
});

test('an item without a kind applies to every kind', async () => {
  const result = await put('all', { ...off, push_enabled: true });
  expect(result.map(({ notification_kind }) => notification_kind)).toEqual(kinds);
  expect(formatChannels(result)).toEqual(everyKind('false true false'));
});

test('items are applied in order, and later ones override earlier ones', async () => {
  const result = await put(
    'order',
    { notification_kind: 'task_failed', ...off },
    { notification_kind: 'plan_requested', ...off },
    { ...off, email_enabled: true },
    { notification_kind: 'plan_requested', ...off, chat_dm_enabled: true },
  );
  expect(formatChannels(result)).toEqual({
    ...everyKind('true false false'),
    plan_requested: 'false false true',
  });
});

test("an empty list stores all four kinds and returns them in the specification's order", async () => {
  const result = await put('empty');
  const time = expect.any(String);
  const stored = { ...on, user_id: 'empty', created_at: time, updated_at: result[0]?.created_at };
  expect(result).toStrictEqual(kinds.map((notification_kind) => ({ notification_kind, ...stored })));
  expect(await read('empty')).toEqual(result);
  const rows = await gateway.database.sql(`select from notification_preference where user_id = 'empty'`);
  expect(rows).toHaveLength(4);
});

test('updated_at changes only with a channel, and created_at never', async () => {
  await put('times');
  await gateway.database.sql(
    `update notification_preference set created_at = '2026-01-01', updated_at = '2026-01-02' where user_id = 'times'`,
  );
  const result = await put(
    'times',
    { notification_kind: 'task_failed', ...on, chat_dm_enabled: false },
    { notification_kind: 'plan_requested', ...on },
    { notification_kind: 'question_requested', ...off },
    { notification_kind: 'question_requested', ...on },
  );
  for (const { notification_kind, created_at, updated_at } of result) {
    expect(created_at).toBe('2026-01-01T00:00:00.000Z');
    expect(updated_at === '2026-01-02T00:00:00.000Z').toBe(notification_kind !== 'task_failed');
  }
});

test('channels that an item does not name keep their values, or the defaults', async () => {
  await put('some', { notification_kind: 'task_failed', ...off });
  await change('patch', 'some', [{ notification_kind: 'task_failed', push_enabled: true }]);
  await as('some').updatePreferences({ preferences: [{ emailEnabled: false }] });
  expect(formatChannels(await read('some'))).toEqual({
    ...everyKind('false true true'),
    task_failed: 'false true false',
  });
});

test('clients that change different channels do not lose changes of each other', async () => {
  for (let round = 0; round < 5; round += 1) {
    const user = `lost-${round}`;
    const channels = ['email_enabled', 'push_enabled', 'chat_dm_enabled'];
    await Promise.all(channels.map((name) => change('patch', user, [{ [name]: false }])));
    expect(formatChannels(await read(user))).toEqual(everyKind('false false false'));
  }
});

test('concurrent updates of different kinds all succeed and do not overwrite each other', async () => {
  for (let round = 0; round < 5; round += 1) {
    const user = `at-once-${round}`;
    for (const channels of [off, { ...off, email_enabled: true }]) {
      await Promise.all(kinds.map((notification_kind) => put(user, { notification_kind, ...channels })));
      expect(await read(user)).toMatchObject(
        kinds.map((notification_kind) => ({ notification_kind, ...channels })),
      );
    }
  }
});

test('merging changes has the same result as applying them in order', () => {
  const names = ['emailEnabled', 'pushEnabled', 'chatDmEnabled'] as const;
  const channel = fc.constantFrom(true, false, null, undefined);
  const kind = fc.constantFrom(...kinds);
  const change = fc.record(
    {
      notificationKind: fc.option(kind),
      emailEnabled: channel,
      pushEnabled: channel,
      chatDmEnabled: channel,
    },
    { requiredKeys: [] },
  );
  const stored = fc.record({
    emailEnabled: fc.boolean(),
    pushEnabled: fc.boolean(),
    chatDmEnabled: fc.boolean(),
  });
  fc.assert(
    fc.property(kind, fc.array(change, { maxLength: 12 }), stored, (kind, changes, before) => {
      const applied = { ...before };
      for (const change of changes) {
        if (change.notificationKind != null && change.notificationKind !== kind) continue;
        for (const name of names) applied[name] = change[name] ?? applied[name];
      }
      expect({ ...before, ...mergeChanges(kind, changes) }).toEqual(applied);
    }),
  );
});

const differs = 'must not differ from preferences[1], which also applies to all kinds';
const none = 'must change a channel';

test.each<[what: string, preferences: object[], ...items: [location: string, message: string][]]>([
  [
    'items without a channel',
    [{ emailEnabled: true }, { notificationKind: 'TASK_FAILED' }, { emailEnabled: null }],
    ['input.preferences[1]', none],
    ['input.preferences[2]', none],
  ],
  [
    'items without a kind that differ',
    [
      { notificationKind: 'TASK_FAILED', emailEnabled: true },
      { emailEnabled: true },
      { emailEnabled: true },
      { emailEnabled: true, pushEnabled: false },
      { pushEnabled: false },
    ],
    ['input.preferences[3]', differs],
    ['input.preferences[4]', differs],
  ],
])('refuses %s, and changes nothing', async (_what, preferences, ...items) => {
  await expect(as('refused').updatePreferences({ preferences })).rejects.toMatchObject(
    refused('VALIDATION_FAILED', ...items),
  );
  expect((await read('refused'))[0]).not.toHaveProperty('created_at');
});

test('PUT rejects differing items without a kind, and accepts equal ones and a null kind', async () => {
  // The specification shows items without a kind. Of four such items, only the last would apply.
  const four = [on, off, off, { ...on, email_enabled: false }];
  const { status, body } = await as('putting').rest.put(path, { preferences: four });
  expect([status, body.errors.length]).toEqual([422, 3]);

  await put('putting', off, { ...off, notification_kind: null });
  expect(formatChannels(await read('putting'))).toEqual(everyKind('false false false'));
});

test('PUT requires all channels', async () => {
  const { body } = await as('putting').rest.put(path, { preferences: [{ push_enabled: true }] });
  expect(body.errors).toMatchObject([
    { location: 'body.preferences[0].email_enabled', message: 'is required' },
    { location: 'body.preferences[0].chat_dm_enabled', message: 'is required' },
  ]);
});

test.each(['put', 'patch'] as const)(
  '%s accepts what was read, and ignores its owner and timestamps',
  async (method) => {
    const user = `round-trip-${method}`;
    for (const stored of [false, true]) {
      if (stored) await put(user, { ...off, push_enabled: true });
      const preferences = await read(user);
      const others = preferences.map((item) => ({ ...item, user_id: 'another', created_at: null }));
      for (const sent of [preferences, others]) {
        expect(await change(method, user, sent)).toMatchObject(preferences);
      }
    }
    expect(await read('another')).toMatchObject([on, on, on, on]);
  },
);

test('channels of a published notification match the preferences, and the inbox contains it regardless', async () => {
  const channels = async (kind: Kind) => (await as(platform).publish(notification('reached', kind))).channels;
  expect(await channels('task_failed')).toEqual(['EMAIL', 'PUSH', 'CHAT_DM']);

  await put(
    'reached',
    { notification_kind: 'task_failed', ...off },
    { notification_kind: 'plan_requested', ...off, push_enabled: true },
    { notification_kind: 'question_requested', ...on, push_enabled: false },
  );

  expect(await Promise.all(kinds.map(channels))).toEqual([
    ['PUSH'],
    ['EMAIL', 'CHAT_DM'],
    [],
    ['EMAIL', 'PUSH', 'CHAT_DM'],
  ]);
  expect((await as('reached').notifications()).nodes).toHaveLength(5);
});
