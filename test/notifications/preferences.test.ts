import { describe, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, asPlatform, payloads } from '../support/records.ts';
import { member, signToken } from '../support/tokens.ts';

const gateway = useGateway();

const path = '/user/notification-preferences';
const kinds = ['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'];
const on = { email_enabled: true, push_enabled: true, chat_dm_enabled: true };
const off = { email_enabled: false, push_enabled: false, chat_dm_enabled: false };

type Change = typeof on & { notification_kind?: string };
type Preference = Required<Change> & { user_id: string; created_at?: string; updated_at?: string };

const fields = `
  notification_kind: notificationKind email_enabled: emailEnabled push_enabled: pushEnabled
  chat_dm_enabled: chatDmEnabled user_id: userId created_at: createdAt updated_at: updatedAt`;

function fromGraphQL(preferences: Preference[]): Preference[] {
  return preferences.map((item) => ({ ...item, notification_kind: item.notification_kind.toLowerCase() }));
}

/** Updates preferences over either API, and returns them in the same format. */
const updateBy = {
  async REST(userId: string, preferences: Change[]): Promise<Preference[]> {
    const reply = await rest(gateway, 'PUT', path, { token: await member(userId), body: { preferences } });
    expect(reply.status, reply.text).toBe(200);
    return reply.body.preferences;
  },
  async GraphQL(userId: string, preferences: Change[]): Promise<Preference[]> {
    const data = await asMember(
      gateway,
      userId,
      `mutation ($input: UpdateNotificationPreferencesInput!) {
        updateNotificationPreferences(input: $input) { preferences { ${fields} } }
      }`,
      {
        input: {
          preferences: preferences.map((item) => ({
            ...(item.notification_kind && { notificationKind: item.notification_kind.toUpperCase() }),
            emailEnabled: item.email_enabled,
            pushEnabled: item.push_enabled,
            chatDmEnabled: item.chat_dm_enabled,
          })),
        },
      },
    );
    return fromGraphQL(data.updateNotificationPreferences.preferences);
  },
};

async function read(userId: string): Promise<Preference[]> {
  return (await rest(gateway, 'GET', path, { token: await member(userId) })).body.preferences;
}

async function readOverGraphQL(userId: string): Promise<Preference[]> {
  const data = await asMember(gateway, userId, `{ notificationPreferences { ${fields} } }`);
  return fromGraphQL(data.notificationPreferences);
}

const formatChannels = (preferences: Preference[]) =>
  Object.fromEntries(
    preferences.map((item) => [
      item.notification_kind,
      `${item.email_enabled} ${item.push_enabled} ${item.chat_dm_enabled}`,
    ]),
  );

test('all channels are on by default, without timestamps, and reading stores nothing', async () => {
  const expected = kinds.map((notification_kind) => ({ notification_kind, ...on, user_id: 'new' }));

  expect(await read('new')).toStrictEqual(expected);
  expect(await readOverGraphQL('new')).toEqual(
    expected.map((item) => ({ ...item, created_at: null, updated_at: null })),
  );
  const rows = await gateway.database.sql(`select from notification_preference where user_id = 'new'`);
  expect(rows).toEqual([]);
});

describe.each(['REST', 'GraphQL'] as const)('updating over %s', (api) => {
  const update = updateBy[api];

  test('an item without a kind applies to every kind', async () => {
    const result = await update(`all-${api}`, [{ ...off, push_enabled: true }]);
    expect(result.map(({ notification_kind }) => notification_kind)).toEqual(kinds);
    expect(new Set(Object.values(formatChannels(result)))).toEqual(new Set(['false true false']));
  });

  test('items are applied in order, and later ones override earlier ones', async () => {
    const result = await update(`order-${api}`, [
      { notification_kind: 'task_failed', ...off },
      { notification_kind: 'plan_requested', ...off },
      { ...off, email_enabled: true },
      { notification_kind: 'plan_requested', ...off, chat_dm_enabled: true },
    ]);
    expect(formatChannels(result)).toEqual({
      plan_requested: 'false false true',
      question_requested: 'true false false',
      task_failed: 'true false false',
      task_response_ready: 'true false false',
    });
  });

  test('kinds that are not mentioned keep their channels, or the defaults', async () => {
    const user = `keep-${api}`;
    await update(user, [{ notification_kind: 'task_failed', ...off }]);
    const result = await update(user, [{ notification_kind: 'plan_requested', ...off, email_enabled: true }]);
    expect(formatChannels(result)).toEqual({
      plan_requested: 'true false false',
      question_requested: 'true true true',
      task_failed: 'false false false',
      task_response_ready: 'true true true',
    });
    expect(await read(user)).toEqual(result);
    expect(await readOverGraphQL(user)).toEqual(result);
  });

  test("an empty list stores all four kinds and returns them in the specification's order", async () => {
    const user = `empty-${api}`;
    const result = await update(user, []);
    expect(result).toStrictEqual(
      kinds.map((notification_kind) => ({
        notification_kind,
        ...on,
        user_id: user,
        created_at: expect.any(String),
        updated_at: result[0]?.created_at,
      })),
    );
    expect(await read(user)).toEqual(result);
    const rows = await gateway.database.sql(`select from notification_preference where user_id = $1`, [user]);
    expect(rows).toHaveLength(4);
  });

  test('updated_at changes only with a channel, and created_at never', async () => {
    const user = `times-${api}`;
    await update(user, []);
    await gateway.database.sql(
      `update notification_preference set created_at = '2026-01-01', updated_at = '2026-01-02' where user_id = $1`,
      [user],
    );
    const result = await update(user, [
      { notification_kind: 'task_failed', ...on, chat_dm_enabled: false },
      { notification_kind: 'plan_requested', ...on },
      { notification_kind: 'question_requested', ...off },
      { notification_kind: 'question_requested', ...on },
    ]);
    for (const { notification_kind, created_at, updated_at } of result) {
      expect(created_at).toBe('2026-01-01T00:00:00.000Z');
      if (notification_kind !== 'task_failed') expect(updated_at).toBe('2026-01-02T00:00:00.000Z');
      else expect(updated_at?.startsWith('2026-01-02')).toBe(false);
    }
  });
});

const patchPath = async (userId: string, preferences: object[]) =>
  rest(gateway, 'PATCH', path, { token: await member(userId), body: { preferences } });

/** Changes some channels over either API, and returns the error items, in REST's names. */
const changeSome = {
  async REST(userId: string, preferences: object[]): Promise<unknown[]> {
    return (await patchPath(userId, preferences)).body.errors ?? [];
  },
  async GraphQL(userId: string, preferences: object[]): Promise<unknown[]> {
    const text = JSON.stringify(preferences)
      .replaceAll(
        /_([a-z]+)(?=[_a-z]*":)/g,
        (_all, [first = '', ...rest]) => first.toUpperCase() + rest.join(''),
      )
      .replaceAll(/"(task_failed|plan_requested)"/g, (word) => word.toUpperCase());
    const query = `mutation ($input: UpdateNotificationPreferencesInput!) {
      updateNotificationPreferences(input: $input) { __typename } }`;
    const { errors } = await graphql(
      gateway,
      query,
      { input: { preferences: JSON.parse(text) } },
      { token: await member(userId) },
    );
    return errors.flatMap(({ extensions }) => extensions.errors);
  },
};

describe.each(['REST', 'GraphQL'] as const)('changing some channels over %s', (api) => {
  const change = changeSome[api];
  const root = api === 'REST' ? 'body' : 'input';

  test('channels that an item does not name keep their values, or the defaults', async () => {
    const user = `some-${api}`;
    await updateBy.REST(user, [{ notification_kind: 'task_failed', ...off }]);

    expect(await change(user, [{ notification_kind: 'task_failed', push_enabled: true }])).toEqual([]);
    expect(await change(user, [{ email_enabled: false }])).toEqual([]);

    expect(formatChannels(await read(user))).toEqual({
      plan_requested: 'false true true',
      question_requested: 'false true true',
      task_failed: 'false true false',
      task_response_ready: 'false true true',
    });
  });

  test('clients that change different channels do not lose changes of each other', async () => {
    for (let round = 0; round < 5; round += 1) {
      const user = `lost-${api}-${round}`;
      const channels = ['email_enabled', 'push_enabled', 'chat_dm_enabled'];
      await Promise.all(channels.map((name) => change(user, [{ [name]: false }])));
      expect(new Set(Object.values(formatChannels(await read(user))))).toEqual(
        new Set(['false false false']),
      );
    }
  });

  test('an item without a channel is an error', async () => {
    const items = await change('none', [{ email_enabled: true }, { notification_kind: 'task_failed' }]);
    const value =
      root === 'body' ? { notification_kind: 'task_failed' } : { notificationKind: 'TASK_FAILED' };
    expect(items).toEqual([{ location: `${root}.preferences[1]`, message: 'must change a channel', value }]);
  });

  test('items without a kind that differ are errors, equal ones are not', async () => {
    const items = await change('differing', [
      { notification_kind: 'task_failed', email_enabled: true },
      { email_enabled: true },
      { email_enabled: true },
      { email_enabled: true, push_enabled: false },
      { push_enabled: false },
    ]);
    const message = 'must not differ from preferences[1], which also applies to all kinds';
    expect(items).toMatchObject([
      { location: `${root}.preferences[3]`, message },
      { location: `${root}.preferences[4]`, message },
    ]);
    expect((await read('differing'))[0]).not.toHaveProperty('created_at');
  });
});

test('PUT rejects differing items without a kind, and accepts equal ones and a null kind', async () => {
  const put = async (preferences: object[]) =>
    rest(gateway, 'PUT', path, { token: await member('putting'), body: { preferences } });
  // The specification shows items without a kind. Of four such items, only the last would apply.
  const four = await put([on, off, off, { ...on, email_enabled: false }]);
  expect([four.status, four.body.errors.length]).toEqual([422, 3]);

  expect((await put([off, { ...off, notification_kind: null }])).status).toBe(200);
  expect(new Set(Object.values(formatChannels(await read('putting'))))).toEqual(
    new Set(['false false false']),
  );
});

test('PUT requires all channels', async () => {
  const body = { preferences: [{ push_enabled: true }] };
  const reply = await rest(gateway, 'PUT', path, { token: await member('putting'), body });
  expect(reply.body.errors).toMatchObject([
    { location: 'body.preferences[0].email_enabled', message: 'is required' },
    { location: 'body.preferences[0].chat_dm_enabled', message: 'is required' },
  ]);
});

test.each(['PUT', 'PATCH'])(
  '%s accepts what was read, and ignores its owner and timestamps',
  async (method) => {
    const user = `round-trip-${method}`;
    for (const stored of [false, true]) {
      if (stored) await updateBy.REST(user, [{ ...off, push_enabled: true }]);
      const preferences = await read(user);
      const others = preferences.map((item) => ({ ...item, user_id: 'another', created_at: null }));
      for (const sent of [preferences, others]) {
        const reply = await rest(gateway, method, path, {
          token: await member(user),
          body: { preferences: sent },
        });
        expect(reply.status, reply.text).toBe(200);
        expect(reply.body.preferences).toMatchObject(preferences);
      }
    }
    expect(await read('another')).toMatchObject([on, on, on, on]);
  },
);

test('concurrent updates of different kinds all succeed and do not overwrite each other', async () => {
  const waves = Array.from({ length: 5 }, (_, n) => `at-once-${n}`);
  for (const user of waves) {
    for (const change of [off, { ...off, email_enabled: true }]) {
      await Promise.all(
        kinds.map((notification_kind) => updateBy.REST(user, [{ notification_kind, ...change }])),
      );
      const expected = kinds.map((notification_kind) => ({ notification_kind, ...change }));
      expect(await read(user)).toMatchObject(expected);
    }
  }
});

test('preferences of another user require platform:read', async () => {
  await updateBy.REST('owner', [off]);
  expect(formatChannels(await read('other')).task_failed).toBe('true true true');

  const query = `{ user(id: "owner") { notificationPreferences { ${fields} } } }`;
  const token = await signToken({ sub: 'dashboard', scope: 'platform:read' });
  const { data } = await graphql(gateway, query, {}, { token });
  expect(data.user.notificationPreferences).toHaveLength(4);
  expect(data.user.notificationPreferences[0]).toMatchObject({ user_id: 'owner', ...off });
  await expect(asMember(gateway, 'other', query)).rejects.toThrow('FORBIDDEN');
});

test('channels of a published notification match the preferences, and the inbox contains it regardless', async () => {
  const channels = async (payload: object) => {
    const data = await asPlatform(
      gateway,
      `mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { channels } }`,
      { input: { userId: 'reached', task: { id: 't', projectId: 'p' }, title: 'T', payload } },
    );
    return data.publishNotification.channels;
  };
  expect(await channels(payloads.task_failed)).toEqual(['EMAIL', 'PUSH', 'CHAT_DM']);

  await updateBy.REST('reached', [
    { notification_kind: 'task_failed', ...off },
    { notification_kind: 'plan_requested', ...off, push_enabled: true },
    { notification_kind: 'question_requested', ...on, push_enabled: false },
  ]);

  expect(await channels(payloads.task_failed)).toEqual([]);
  expect(await channels(payloads.plan_requested)).toEqual(['PUSH']);
  expect(await channels(payloads.question_requested)).toEqual(['EMAIL', 'CHAT_DM']);
  expect(await channels(payloads.task_response_ready)).toEqual(['EMAIL', 'PUSH', 'CHAT_DM']);
  const { body } = await rest(gateway, 'GET', '/user/notifications', { token: await member('reached') });
  expect(body.notifications).toHaveLength(5);
});
