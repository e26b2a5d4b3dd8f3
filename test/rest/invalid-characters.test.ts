import { isScalarType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/schema.ts';
import { useGateway } from '../support/gateway.ts';
import { buildDocument, isSubscription } from '../support/root-fields.ts';
import { platform, signToken } from '../support/tokens.ts';
import { argumentsWith, formatPath, type InputPlace, inputPlaces } from './input-places.ts';

/** The scalars that accept stored text. Every other scalar has its own rule. */
const textual = ['ID', 'String', 'Secret', 'JSON', 'EmailAddress', 'URL'];
const others = ['Boolean', 'DateTime', 'Float', 'Int'];

const scalars = inputPlaces.filter(({ type }) => isScalarType(schema.getType(type)));
const places = scalars.filter(({ type }) => textual.includes(type));

const gateway = useGateway();
const scope = 'account:write platform:write platform:read platform:credentials';
const alice = gateway.as(() => signToken({ sub: 'alice', org_id: 'acme', scope }));

/** Sends a value at a place, and returns the error items. */
async function send(place: InputPlace, value: unknown) {
  const given = argumentsWith(place, value);
  const headers = isSubscription(place.field) ? { Accept: 'text/event-stream, application/json' } : {};
  const { errors } = await alice.graphql(buildDocument(place.field, given), given, { headers });
  return errors.flatMap(({ extensions }) => extensions.errors ?? [{ location: extensions.code }]);
}

test("this file covers every scalar of the schema's inputs", () => {
  expect([...new Set(scalars.map(({ type }) => type))].sort()).toEqual([...others, ...textual].sort());
  expect(places.length).toBeGreaterThan(40);
});

const named = places.map((place): [string, InputPlace] => [
  `${place.field}(${formatPath(place.path)})`,
  place,
]);

test.each(named)('%s rejects U+0000 and a lone surrogate', async (_name, place) => {
  for (const text of ['a\0b', 'a\ud800b'])
    expect(await send(place, text)).toMatchObject([{ location: formatPath(place.path) }]);
});

/** JSON that is valid for every argument of the type JSON, with additional members. */
const withMembers = (more: object) => ({ summary: '', plan: '', questions: [], ...more });

describe.each(named.filter(([, { type }]) => type === 'JSON'))('%s rejects', (_name, place) => {
  const at = formatPath(place.path);

  test.each<[what: string, value: unknown, ...locations: string[]]>([
    [
      'nested invalid characters',
      withMembers({ a: [{ b: 'x\0' }], c: { d: '\udfff' }, e: { '\0': 1 }, f: { '\ud800': 1 } }),
      ...['.a[0].b', '.c.d', '.e', '.f'],
    ],
    ['a key __proto__', withMembers(JSON.parse('{"deep":{"__proto__":{"polluted":true}}}')), '.deep'],
    [
      '65 nested levels',
      withMembers(JSON.parse(`{"deep":${'['.repeat(64)}${']'.repeat(64)}}`)),
      `.deep${'[0]'.repeat(63)}`,
    ],
  ])('%s', async (_what, value, ...locations) => {
    const items = await send(place, value);
    expect(items).toMatchObject(locations.map((location) => ({ location: `${at}${location}` })));
    expect({}).not.toHaveProperty('polluted');
  });

  test('a number beyond the range of a double', async () => {
    const variables = argumentsWith(place, withMembers({ number: 'HUGE' }));
    const body = JSON.stringify({ query: buildDocument(place.field, variables), variables });
    const reply = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${await platform()}` },
      body: body.replace('"HUGE"', '1e400'),
    });
    const errors = [{ message: 'must be a finite number' }];
    expect(await reply.json()).toMatchObject({ errors: [{ extensions: { errors } }] });
  });
});

test('rejects a __proto__ key in a literal like one in a variable', async () => {
  const input = `{
    userId: "alice", title: "", task: { id: "t", projectId: "p" },
    payload: { planRequested: { toolId: "t", input: { summary: "", plan: "", __proto__: { polluted: true } } } }
  }`;
  const { errors } = await alice.graphql(`mutation { publishNotification(input: ${input}) { __typename } }`);

  expect(errors[0].extensions.errors).toMatchObject([{ message: 'must not have a key "__proto__"' }]);
});
