import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { member } from './support/tokens.ts';

const item = { email_enabled: true, push_enabled: true, chat_dm_enabled: true };

let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  token = await member('alice');
});
afterAll(() => gateway.close());

/** Sends JSON as it is written. */
const put = (raw: string) =>
  rest(gateway, 'PUT', '/user/notification-preferences', {
    token,
    raw,
    headers: { 'Content-Type': 'application/json' },
  });

type Items = [location: string, message: string, value: unknown][];

const misshapen: [what: string, raw: string, items: Items][] = [
  ['null', 'null', [['body', 'must be an object', null]]],
  ['text', '"text"', [['body', 'must be an object', 'text']]],
  ['a list', '[]', [['body', 'must be an object', []]]],
  ['without its property', '{}', [['body.preferences', 'is required', null]]],
  ['with null for a list', '{"preferences":null}', [['body.preferences', 'must be an array', null]]],
  ['with an object for a list', '{"preferences":{}}', [['body.preferences', 'must be an array', {}]]],
  [
    'with an item that is null',
    '{"preferences":[null]}',
    [['body.preferences[0]', 'must be an object', null]],
  ],
  [
    'with an item without properties',
    '{"preferences":[{}]}',
    [
      ['body.preferences[0].email_enabled', 'is required', null],
      ['body.preferences[0].push_enabled', 'is required', null],
      ['body.preferences[0].chat_dm_enabled', 'is required', null],
    ],
  ],
  [
    'with wrong types, a wrong word and an unknown property in several items',
    JSON.stringify({
      preferences: [
        { ...item, email_enabled: 'true', push_enabled: null },
        { ...item, notification_kind: 'PLAN_REQUESTED', sms_enabled: 1 },
        { ...item, chat_dm_enabled: 0, notification_kind: null },
      ],
      more: [],
    }),
    [
      ['body.preferences[0].email_enabled', 'must be a boolean', 'true'],
      ['body.preferences[0].push_enabled', 'must be a boolean', null],
      [
        'body.preferences[1].notification_kind',
        'must be one of plan_requested, question_requested, task_failed, task_response_ready',
        'PLAN_REQUESTED',
      ],
      ['body.preferences[1].sms_enabled', 'is not a known property', 1],
      [
        'body.preferences[2].notification_kind',
        'must be one of plan_requested, question_requested, task_failed, task_response_ready',
        null,
      ],
      ['body.preferences[2].chat_dm_enabled', 'must be a boolean', 0],
      ['body.more', 'is not a known property', []],
    ],
  ],
  [
    'with the keys __proto__ and constructor',
    '{"preferences":[{"__proto__":{"email_enabled":true},"push_enabled":true,"chat_dm_enabled":true}],"constructor":{}}',
    [
      ['body.preferences[0].email_enabled', 'is required', null],
      ['body.preferences[0].__proto__', 'is not a known property', { email_enabled: true }],
      ['body.constructor', 'is not a known property', {}],
    ],
  ],
];

test.each(misshapen)('a body that is %s is a 422 that tells every fault', async (_what, raw, items) => {
  const { status, body } = await put(raw);

  expect(status).toBe(422);
  expect(body.errors).toEqual(items.map(([location, message, value]) => ({ location, message, value })));
});

test('lists at most 100 errors', async () => {
  const { body } = await put(`{"preferences":[${Array(100).fill('{}').join()}]}`);

  expect(body.error).toBe('Invalid request: body.preferences[0].email_enabled is required (and 99 more).');
  expect(body.errors).toHaveLength(100);
  expect(body.errors.at(-1).location).toBe('body.preferences[33].email_enabled');
});

test('refuses a list that is too long before it looks at the items', async () => {
  const { body } = await put(`{"preferences":[${Array(20_000).fill('1').join()}]}`);

  expect(body.error).toBe('Invalid request: body.preferences must have at most 100 items.');
  expect(body.errors).toEqual([
    { location: 'body.preferences', message: 'must have at most 100 items', value: '[array of 20000 items]' },
  ]);
});
