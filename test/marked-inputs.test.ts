import { type GraphQLInputType, getNamedType, isEnumType, isInputObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assembleSchema } from '../src/schema.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { argumentsWith, type InputPlace, inputPlaces, locationOf } from './support/input-places.ts';
import { isSubscription, rootFields } from './support/root-fields.ts';
import { signToken } from './support/tokens.ts';

/*
 * A marked string in every input of every operation, sent in every way that a document allows. No message and no log
 * line repeats it; an error item does, in `value` or `location`, unless it is or may be a secret.
 */

const MARK = 'MARKED0123456789';

const schema = assembleSchema();
let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await startTestGateway({ LOG_LEVEL: 'trace' });
  const scope = 'account:write platform:write platform:read platform:credentials';
  token = await signToken({ sub: 'alice', org_id: 'acme', scope });
});
afterAll(() => gateway.close());

/** Writes a JSON value as a literal of an input type. */
function literalOf(type: GraphQLInputType | undefined, value: unknown): string {
  const named = type && getNamedType(type);
  if (Array.isArray(value)) return `[${value.map((item) => literalOf(type, item)).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = isInputObjectType(named) ? named.getFields() : {};
    const members = Object.entries(value).map(
      ([name, item]) => `${name}: ${literalOf(fields[name]?.type, item)}`,
    );
    return `{ ${members.join(', ')} }`;
  }
  return typeof value === 'string' && isEnumType(named) ? value : JSON.stringify(value);
}

type Sent = { query: string; variables?: Record<string, unknown> };

/** The ways in which arguments are sent. */
const ways: Record<string, (field: string, given: Record<string, unknown>) => Sent> = {
  'in variables': (field, given) => {
    const used = argumentsOf(field, given);
    return {
      query: `${keywordOf(field)} (${used.map(({ name, type }) => `$${name}: ${type}`)}) { ${field}(${used.map(({ name }) => `${name}: $${name}`)}) ${selectionOf(field)} }`,
      variables: given,
    };
  },
  'in literals': (field, given) => {
    const bound = argumentsOf(field, given).map(
      ({ name, type }) => `${name}: ${literalOf(type, given[name])}`,
    );
    return { query: `${keywordOf(field)} { ${field}(${bound}) ${selectionOf(field)} }` };
  },
  'in defaults of variables': (field, given) => {
    const used = argumentsOf(field, given);
    const declared = used.map(({ name, type }) => `$${name}: ${type} = ${literalOf(type, given[name])}`);
    return {
      query: `${keywordOf(field)} (${declared}) { ${field}(${used.map(({ name }) => `${name}: $${name}`)}) ${selectionOf(field)} }`,
    };
  },
  'in literals beside a null variable': (field, given) => {
    const [used] = argumentsOf(field, given);
    if (used === undefined) throw new Error(`"${field}" has no arguments.`);
    const literal = literalOf(used.type, given[used.name]).replace(/\}$/, ', userId: $none }');
    return {
      query: `${keywordOf(field)} ($none: ID = "") { ${field}(${used.name}: ${literal}) ${selectionOf(field)} }`,
      variables: { none: null },
    };
  },
};

const argumentsOf = (field: string, given: object) =>
  rootFields[field]?.args.filter(({ name }) => name in given) ?? [];
const keywordOf = (field: string) =>
  isSubscription(field)
    ? 'subscription'
    : schema.getMutationType()?.getFields()[field]
      ? 'mutation'
      : 'query';
const selectionOf = (field: string) => (field.startsWith('rateLimit') ? '' : '{ __typename }');

/** The values that carry the mark: right for text, and wrong in several ways. */
const values: Record<string, unknown> = {
  'a text': MARK,
  'a text that no rule allows': `${MARK}\u0000`,
  'a list': [MARK],
  'an object': { [MARK]: MARK },
};

/** The fields that carry credentials, and those beside one. */
const secretInputs = ['storeEditorSubscription', 'refreshEditorCredential'];
const isSecret = ({ field, path, type }: InputPlace) =>
  type === 'Secret' || secretInputs.includes(field) || (path[1] === 'workspaces' && path.length === 4);

/** What a reply holds outside of error items. */
function outsideOfItems(text: string): string {
  const { errors = [], ...rest } = JSON.parse(text);
  for (const { extensions } of errors) delete extensions.errors;
  return JSON.stringify({ errors, ...rest });
}

async function send(field: string, { query, variables }: Sent): Promise<string> {
  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Accept: `${isSubscription(field) ? 'text/event-stream, ' : ''}application/json`,
    },
    body: JSON.stringify({ query, variables }),
  });
  if (response.headers.get('content-type') !== 'text/event-stream') return response.text();
  // The subscription is valid, and stays open.
  await response.body?.cancel();
  return '{}';
}

const named = inputPlaces.map((place): [string, InputPlace] => [
  `${place.field}(${locationOf(place.path)})`,
  place,
]);

describe.each(Object.keys(ways))('%s', (way) => {
  test.each(named)('a mark in %s is repeated only in the items of its own errors', async (_name, place) => {
    for (const value of Object.values(values)) {
      const given = argumentsWith(place, value);
      const text = await send(place.field, ways[way]?.(place.field, given) ?? { query: '' });

      expect(outsideOfItems(text)).not.toContain(MARK);
      if (isSecret(place)) expect(text).not.toContain(`"${MARK}`);
    }
    // Audit lines name the user that something was done to.
    const lines = gateway
      .logLines()
      .splice(0)
      .filter((line) => !line.includes('"audit"'));
    expect(lines.filter((line) => line.includes(MARK))).toEqual([]);
  });
});

test.each(named)('a value that is too long in %s is described', async (_name, place) => {
  const given = argumentsWith(place, { [MARK]: MARK.repeat(10_000) });
  const text = await send(place.field, ways['in variables']?.(place.field, given) ?? { query: '' });

  expect(text.length).toBeLessThan(4000);
});

test('items show what was sent, and where, in inputs that are not secret', async () => {
  const place = { field: 'dismissNotification', path: ['input', 'id'], type: 'ID' };
  const text = await send(
    place.field,
    ways['in variables']?.(place.field, argumentsWith(place, [MARK])) ?? { query: '' },
  );

  expect(JSON.parse(text).errors[0].extensions.errors).toEqual([
    { location: 'input.id', message: 'must be a string', value: [MARK] },
  ]);
});
