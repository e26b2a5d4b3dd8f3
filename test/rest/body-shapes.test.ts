import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';

const item = { email_enabled: true, push_enabled: true, chat_dm_enabled: true };

const gateway = useGateway();

/** Sends JSON text unchanged. */
const put = (raw: string) =>
  gateway.as('alice').rest.put('/user/notification-preferences', undefined, {
    raw,
    headers: { 'Content-Type': 'application/json' },
  });

type Item = [location: string, message: string, value: unknown];

test.each<[what: string, raw: string, ...items: Item[]]>([
  ['null', 'null', ['body', 'must be an object', null]],
  ['a string', '"text"', ['body', 'must be an object', 'text']],
  ['an array', '[]', ['body', 'must be an object', []]],
  ['an object without the property', '{}', ['body.preferences', 'is required', null]],
  ['null in place of an array', '{"preferences":null}', ['body.preferences', 'must be an array', null]],
  ['an object in place of an array', '{"preferences":{}}', ['body.preferences', 'must be an array', {}]],
  [
    'an array with an item that is null',
    '{"preferences":[null]}',
    ['body.preferences[0]', 'must be an object', null],
  ],
  [
    'an array with an item without properties',
    '{"preferences":[{}]}',
    ['body.preferences[0].email_enabled', 'is required', null],
    ['body.preferences[0].push_enabled', 'is required', null],
    ['body.preferences[0].chat_dm_enabled', 'is required', null],
  ],
  [
    'an array of items with wrong types, an unknown enum value and an unknown property',
    JSON.stringify({
      preferences: [
        { ...item, email_enabled: 'true', push_enabled: null },
        { ...item, notification_kind: 'PLAN_REQUESTED', sms_enabled: 1 },
        { ...item, chat_dm_enabled: 0, notification_kind: null, user_id: 7 },
      ],
      more: [],
    }),
    ['body.preferences[0].email_enabled', 'must be a boolean', 'true'],
    ['body.preferences[0].push_enabled', 'must be a boolean', null],
    [
      'body.preferences[1].notification_kind',
      'must be one of plan_requested, question_requested, task_failed, task_response_ready',
      'PLAN_REQUESTED',
    ],
    ['body.preferences[1].sms_enabled', 'is not a known property', 1],
    ['body.preferences[2].chat_dm_enabled', 'must be a boolean', 0],
    ['body.preferences[2].user_id', 'must be a string', 7],
    ['body.more', 'is not a known property', []],
  ],
  [
    'an object with the keys __proto__ and constructor',
    '{"preferences":[{"__proto__":{"email_enabled":true},"push_enabled":true,"chat_dm_enabled":true}],"constructor":{}}',
    ['body.preferences[0].email_enabled', 'is required', null],
    ['body.preferences[0].__proto__', 'is not a known property', { email_enabled: true }],
    ['body.constructor', 'is not a known property', {}],
  ],
])('returns 422 with every error for a body that is %s', async (_what, raw, ...items) => {
  const { status, body } = await put(raw);

  expect(status).toBe(422);
  expect(body.errors).toEqual(items.map(([location, message, value]) => ({ location, message, value })));
});

test('returns at most 100 errors', async () => {
  const { body } = await put(`{"preferences":[${Array(100).fill('{}').join()}]}`);

  expect(body.error).toBe('Invalid request: body.preferences[0].email_enabled is required (and 99 more).');
  expect(body.errors).toHaveLength(100);
  expect(body.errors.at(-1).location).toBe('body.preferences[33].email_enabled');
});

test('rejects an array that is too long without validating its items', async () => {
  const { body } = await put(`{"preferences":[${Array(20_000).fill('1').join()}]}`);

  expect(body.error).toBe('Invalid request: body.preferences must have at most 100 items.');
  expect(body.errors).toEqual([
    { location: 'body.preferences', message: 'must have at most 100 items', value: '[array of 20000 items]' },
  ]);
});
