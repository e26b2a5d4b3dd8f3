import { isScalarType } from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/schema.ts';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { buildDocument, isSubscription } from '../support/root-fields.ts';
import { signToken } from '../support/tokens.ts';
import { argumentsWith, formatPath, type InputPlace, inputPlaces } from './input-places.ts';

/** The scalars that accept stored text. Every other scalar has its own rule. */
const textual = ['ID', 'String', 'Secret', 'JSON', 'EmailAddress', 'URL'];
const others = ['Boolean', 'DateTime', 'Float', 'Int'];

const scalars = inputPlaces.filter(({ type }) => isScalarType(schema.getType(type)));
const places = scalars.filter(({ type }) => textual.includes(type));

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await signToken({
    sub: 'alice',
    org_id: 'acme',
    scope: 'account:write platform:write platform:read platform:credentials',
  });
});

async function send(place: InputPlace, value: unknown) {
  const given = argumentsWith(place, value);
  const headers = isSubscription(place.field) ? { Accept: 'text/event-stream, application/json' } : {};
  const { data, errors } = await graphql(gateway, buildDocument(place.field, given), given, {
    token,
    headers,
  });
  return {
    data,
    items: errors.flatMap(({ extensions }) => extensions.errors ?? [{ location: extensions.code }]),
  };
}

test("this file covers every scalar of the schema's inputs", () => {
  expect([...new Set(scalars.map(({ type }) => type))].sort()).toEqual([...others, ...textual].sort());
  expect(places.length).toBeGreaterThan(40);
});

const named = places.map((place): [string, InputPlace] => [
  `${place.field}(${formatPath(place.path)})`,
  place,
]);

test.each(named)('%s rejects U+0000', async (_name, place) => {
  const { items } = await send(place, 'a\0b');

  expect(items).toEqual([expect.objectContaining({ location: formatPath(place.path) })]);
});

test.each(named)('%s rejects a lone surrogate', async (_name, place) => {
  const { items } = await send(place, 'a\ud800b');

  expect(items).toEqual([expect.objectContaining({ location: formatPath(place.path) })]);
});

const json = named.filter(([, { type }]) => type === 'JSON');
/** JSON that is valid for every argument of the type JSON, with additional members. */
const withMembers = (more: object) => ({ summary: '', plan: '', questions: [], ...more });

test.each(json)('%s rejects nested invalid characters, with their locations', async (_name, place) => {
  const at = formatPath(place.path);
  const hostile = withMembers({ a: [{ b: 'x\0' }], c: { d: '\udfff' }, e: { '\0': 1 }, f: { '\ud800': 1 } });

  const { items } = await send(place, hostile);

  expect(items.map(({ location }) => location)).toEqual([`${at}.a[0].b`, `${at}.c.d`, `${at}.e`, `${at}.f`]);
});

test.each(json)('%s rejects __proto__ keys', async (_name, place) => {
  const at = formatPath(place.path);
  const hostile = JSON.parse(
    '{"summary":"","plan":"","questions":[],"deep":{"__proto__":{"polluted":true}}}',
  );

  const { items } = await send(place, hostile);

  expect(items.map(({ location }) => location)).toEqual([`${at}.deep`]);
  expect({}).not.toHaveProperty('polluted');
});

test('rejects a __proto__ key in a literal like one in a variable', async () => {
  const literal = buildDocument('publishNotification', {}).replace(
    'publishNotification',
    `publishNotification(input: {
      userId: "alice", title: "", task: { id: "t", projectId: "p" },
      payload: { planRequested: { toolId: "t", input: { summary: "", plan: "", __proto__: { polluted: true } } } }
    })`,
  );

  const { errors } = await graphql(gateway, literal, {}, { token });

  expect(errors[0].extensions.errors).toEqual([
    expect.objectContaining({ message: 'must not have a key "__proto__"' }),
  ]);
});

test.each(json)('%s rejects JSON with 65 nested levels', async (_name, place) => {
  const deep = JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`);

  const { items } = await send(place, withMembers({ deep }));

  expect(items).toEqual([expect.objectContaining({ message: 'must not be nested deeper than 64 levels' })]);
});

test.each(json)('%s rejects a number beyond the range of a double', async (_name, place) => {
  const marked = argumentsWith(place, withMembers({ number: 'HUGE' }));
  const body = JSON.stringify({ query: buildDocument(place.field, marked), variables: marked }).replace(
    '"HUGE"',
    '1e400',
  );

  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body,
  });

  expect(await response.json()).toMatchObject({
    errors: [{ extensions: { errors: [{ message: 'must be a finite number' }] } }],
  });
});
