import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

/* The `input` of a payload is foreign JSON, which is returned unchanged, with its keys in order. */

const gateway = useGateway();
const { as } = gateway;

/** Reads the input of a user's newest notification over both APIs, as JSON text. */
async function readInputs(userId: string) {
  const { body } = await as(userId).rest.get('/user/notifications?limit=1');
  const { data } = await as(userId).graphql(`{ notifications(first: 1) { nodes {
    ... on PlanRequestedNotification { payload { input } }
    ... on QuestionRequestedNotification { payload { input } } } } }`);
  return [body.notifications[0].payload.input, data.notifications.nodes[0].payload.input].map((read) =>
    JSON.stringify(read),
  );
}

/** Publishes an input, and expects it to be read unchanged. */
async function expectRoundTrip(userId: string, kind: 'planRequested' | 'questionRequested', input: object) {
  await publish(gateway, userId, 'task_failed', { payload: { [kind]: { toolId: 'tool', input } } });
  const text = JSON.stringify(input);
  expect(await readInputs(userId)).toEqual([text, text]);
}

const extras: [what: string, extra: object][] = [
  ['keys in another than alphabetical order', { zebra: 1, apple: 2, Mango: 3, _: 4 }],
  ['names of wire fields', { tool_id: 'x', toolId: 'y', created_at: 1, multiSelect: [] }],
  ['enum values', { status: 'ACTIVE', kind: 'plan_requested' }],
  ['values of every type', { a: null, b: false, c: 0, d: -1.5e-7, e: '', f: [], g: {}, h: 2 ** 53 - 1 }],
  ['text from all Unicode planes', { text: '漢字 \u{1F600} \u0001 \u2028 "quoted" \\ \u{FFFF}' }],
  ['an empty key', { '': { '': '' } }],
  ['names of Object.prototype', { constructor: 1, toString: 2, hasOwnProperty: { valueOf: 3 } }],
  ['strings that look like timestamps or numbers', { time: '2026-01-01T00:00:00+02:00', number: '1e3' }],
  ['64 levels', { deep: Array.from({ length: 62 }).reduce<object>((inner) => ({ inner }), ['x']) }],
  ['many members', Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`key-${2000 - n}`, n]))],
];

test.each(extras)('returns an input with %s unchanged over both APIs', async (what, extra) => {
  await expectRoundTrip(what, 'planRequested', { plan: 'P', ...extra, summary: 'S' });
  await expectRoundTrip(what, 'questionRequested', { ...extra, questions: [] });
});

test('returns any JSON object unchanged', async () => {
  const storable = (json: unknown) => !/\\u0000|\\ud[89a-f]|__proto__/i.test(JSON.stringify(json));
  const key = fc.string({ unit: fc.constantFrom('a', 'B', '_', ' ', '"', '\\', '漢', '\u{1F600}') });
  const values = fc.dictionary(key, fc.jsonValue({ maxDepth: 5 })).filter(storable);
  await fc.assert(
    fc.asyncProperty(values, async (extra) => {
      const plan = JSON.parse(JSON.stringify({ ...extra, plan: 'P', summary: 'S' }));
      await expectRoundTrip('anything', 'planRequested', plan);
    }),
    { numRuns: 15 },
  );
});

test('accepts an input as a literal with variables inside', async () => {
  await as(platform).graphql(
    `mutation ($plan: String) { publishNotification(input: {
      userId: "literal", title: "T", task: { id: "t", projectId: "p" }
      payload: { planRequested: { toolId: "tool", input: {
        summary: "S", plan: $plan, list: [1, -2.5, true, null, "x"], nested: { z: 1, a: {} }
      } } }
    }) { created } }`,
    { plan: 'P' },
  );
  const text = '{"summary":"S","plan":"P","list":[1,-2.5,true,null,"x"],"nested":{"z":1,"a":{}}}';
  expect(await readInputs('literal')).toEqual([text, text]);
});
