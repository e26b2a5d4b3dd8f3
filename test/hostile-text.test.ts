import { type GraphQLInputType, getNullableType, isInputObjectType, isListType, isScalarType } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeCursor } from '../src/revisions/change-cursor.ts';
import { graphql } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { documentOf, goodArguments, isSubscription, rootFields } from './support/root-fields.ts';
import { signToken } from './support/tokens.ts';

type Step = string | number;
/** A place in the arguments of a root field that takes text or JSON. */
type Place = { field: string; path: Step[]; type: string };

/** The scalars that take what may be stored as text; every other scalar of the schema has a rule of its own. */
const textual = ['ID', 'String', 'Secret', 'JSON'];
const others = ['Boolean', 'DateTime', 'Int'];

function placesOf(type: GraphQLInputType, path: Step[]): { path: Step[]; type: string }[] {
  const inner = getNullableType(type);
  if (isListType(inner)) return placesOf(inner.ofType, [...path, 0]);
  if (isInputObjectType(inner)) {
    return Object.values(inner.getFields()).flatMap((field) => placesOf(field.type, [...path, field.name]));
  }
  return isScalarType(inner) ? [{ path, type: inner.name }] : [];
}

const scalars = Object.entries(rootFields).flatMap(([field, { args }]) =>
  args.flatMap(({ name, type }) => placesOf(type, [name]).map((place): Place => ({ field, ...place }))),
);
const places = scalars.filter(({ type }) => textual.includes(type));

const locationOf = (path: readonly Step[]) =>
  path.reduce<string>(
    (all, step) => (typeof step === 'number' ? `${all}[${step}]` : all ? `${all}.${step}` : step),
    '',
  );

/** What stands around a place where the good arguments of its root field have nothing. */
const payloads: Readonly<Record<string, object>> = {
  planRequested: { toolId: 'tool-1', input: { summary: '', plan: '' } },
  questionRequested: { toolId: 'tool-1', input: { questions: [] } },
  taskFailed: { taskStatus: 'ERRORED' },
  taskResponseReady: { taskStatus: 'ERRORED' },
};

const noChange = { epoch: '', revision: 0 };

/** The good arguments of a root field with one value put in. */
function argumentsWith({ field, path }: Place, value: unknown): Record<string, unknown> {
  const given = structuredClone(goodArguments[field]?.('alice') ?? {});
  const payload = path.indexOf('payload');
  const member = path[payload + 1];
  if (payload >= 0 && typeof member === 'string')
    Object.assign(at(given, path.slice(0, payload)), {
      payload: { [member]: structuredClone(payloads[member]) },
    });
  if (path[1] === 'filter') Object.assign(given, { input: { filter: { upTo: writeCursor(noChange) } } });
  Reflect.set(at(given, path.slice(0, -1)), path.at(-1) ?? '', value);
  return given;
}

/** The object at a path. */
function at(given: object, path: readonly Step[]): object {
  let found = given;
  for (const step of path) {
    const next: unknown = Reflect.get(found, step);
    if (typeof next !== 'object' || next === null) throw new Error(`Nothing stands at ${locationOf(path)}.`);
    found = next;
  }
  return found;
}

let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  token = await signToken({
    sub: 'alice',
    org_id: 'acme',
    scope: 'account:write platform:write platform:read platform:credentials',
  });
});
afterAll(() => gateway.close());

async function send(place: Place, value: unknown) {
  const given = argumentsWith(place, value);
  const headers = isSubscription(place.field) ? { Accept: 'text/event-stream, application/json' } : {};
  const { data, errors } = await graphql(gateway, documentOf(place.field, given), given, { token, headers });
  return {
    data,
    items: errors.flatMap(({ extensions }) => extensions.errors ?? [{ location: extensions.code }]),
  };
}

test('every scalar that the schema takes is known to this file', () => {
  expect([...new Set(scalars.map(({ type }) => type))].sort()).toEqual([...others, ...textual].sort());
  expect(places.length).toBeGreaterThan(40);
});

const named = places.map((place): [string, Place] => [`${place.field}(${locationOf(place.path)})`, place]);

test.each(named)('%s refuses U+0000', async (_name, place) => {
  const { items } = await send(place, 'a\0b');

  expect(items).toEqual([expect.objectContaining({ location: locationOf(place.path) })]);
});

test.each(named)('%s refuses a lone surrogate', async (_name, place) => {
  const { items } = await send(place, 'a\ud800b');

  expect(items).toEqual([expect.objectContaining({ location: locationOf(place.path) })]);
});

const json = named.filter(([, { type }]) => type === 'JSON');
/** JSON that fits every place that takes some, with something hostile in it. */
const holding = (more: object) => ({ summary: '', plan: '', questions: [], ...more });

test.each(json)(
  '%s refuses what cannot be stored, however deep it stands, and says where',
  async (_name, place) => {
    const at = locationOf(place.path);
    const hostile = holding({ a: [{ b: 'x\0' }], c: { d: '\udfff' }, e: { '\0': 1 }, f: { '\ud800': 1 } });

    const { items } = await send(place, hostile);

    expect(items.map(({ location }) => location)).toEqual([
      `${at}.a[0].b`,
      `${at}.c.d`,
      `${at}.e`,
      `${at}.f`,
    ]);
  },
);

test.each(json)('%s refuses __proto__ keys', async (_name, place) => {
  const at = locationOf(place.path);
  const hostile = JSON.parse(
    '{"summary":"","plan":"","questions":[],"deep":{"__proto__":{"polluted":true}}}',
  );

  const { items } = await send(place, hostile);

  expect(items.map(({ location }) => location)).toEqual([`${at}.deep`]);
  expect({}).not.toHaveProperty('polluted');
});

test('a __proto__ key in a literal is refused like one in a variable', async () => {
  const literal = documentOf('publishNotification', {}).replace(
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

test.each(json)('%s refuses JSON nested too deeply', async (_name, place) => {
  const deep = JSON.parse(`${'['.repeat(100)}${']'.repeat(100)}`);

  const { items } = await send(place, holding({ deep }));

  expect(items).toEqual([expect.objectContaining({ message: 'must not be nested deeper than 64 levels' })]);
});

test.each(json)('%s refuses a number that no double holds', async (_name, place) => {
  const marked = argumentsWith(place, holding({ number: 'HUGE' }));
  const body = JSON.stringify({ query: documentOf(place.field, marked), variables: marked }).replace(
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
