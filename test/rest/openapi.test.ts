import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { formatOpenApi } from '../../src/commands/format-openapi.ts';
import { type TestGateway, useGateway } from '../support/gateway.ts';
import { getBodyValidator, getValidator, openApi, operations } from '../support/openapi.ts';
import { checkAgainstSpecification, errorResponse } from '../support/specification.ts';

const gateway = useGateway();
const settings = { PUBLIC_URL: 'https://example.test/account/', CORS_ORIGINS: 'https://app.example.test' };
const published = useGateway(settings, gateway);

/** Reads the document that a gateway serves, without its URL. */
async function readDocument({ address }: TestGateway) {
  const response = await fetch(`${address}/openapi.json`, {
    headers: { Origin: 'https://app.example.test' },
  });
  const { servers, ...document } = await response.json();
  return { response, servers, document };
}

test('rest/openapi.json is generated from the code (npm run openapi)', async () => {
  expect(formatOpenApi()).toBe(await readFile(new URL('../../rest/openapi.json', import.meta.url), 'utf8'));
});

describe('/openapi.json', () => {
  test('requires no token, has the usual headers, and differs from rest/openapi.json only in the server URL', async () => {
    const { response, servers, document } = await readDocument(gateway);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    });
    expect(servers).toEqual([{ url: gateway.address }]);
    expect({ ...document, servers: [{ url: 'http://127.0.0.1:4000' }] }).toEqual(openApi);
  });

  test('contains the public URL with its path prefix', async () => {
    expect((await readDocument(published)).servers).toEqual([{ url: 'https://example.test/account' }]);
  });

  test('is readable by pages of configured origins', async () => {
    const allowed = [published, gateway].map(async (at) => (await readDocument(at)).response.headers);
    const [configured, none] = await Promise.all(allowed);
    expect(configured?.get('access-control-allow-origin')).toBe('https://app.example.test');
    expect(none?.get('access-control-allow-origin')).toBeNull();
  });
});

/** Yields every node of the document with its path. */
function* nodes(
  value: unknown,
  path: readonly string[] = [],
): Generator<[string[], Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [[...path], { ...value }];
  for (const [key, child] of Object.entries(value)) yield* nodes(child, [...path, key]);
}

test('has the version that the specification gives', async () => {
  expect((await readDocument(gateway)).document.info.version).toBe('0.1.0');
});

test('every component, property, parameter, header and response is described', () => {
  const keywords = ['properties', 'parameters', 'headers', 'schemas', 'responses', 'securitySchemes'];
  const described = [...nodes(openApi)].filter(
    ([path]) => keywords.includes(path.at(-2) ?? '') && !path.includes('examples'),
  );
  expect(described.length).toBeGreaterThan(200);
  const silent = described.filter(([, node]) => !node.description && !node.$ref);
  expect(silent.map(([path]) => path.join('.'))).toEqual([]);
});

test('only `input` allows additional properties', () => {
  const open = [...nodes(openApi)].filter(
    ([, { type, additionalProperties }]) => type === 'object' && additionalProperties !== false,
  );
  expect(open.map(([path]) => path.slice(-3).join('.'))).toEqual([
    'PlanRequestedPayload.properties.input',
    'QuestionRequestedPayload.properties.input',
  ]);
});

/** Every example of a body: the position of its schema, its own position, and its value. */
const examples = [...nodes(openApi)].flatMap(([path, node]) =>
  path.at(-2) === 'examples'
    ? [{ place: path.slice(0, -2), at: path.slice(1).join(' '), value: node.value }]
    : [],
);

describe('examples', () => {
  test('exist for every body', () => {
    const bodies = [...nodes(openApi)].filter(([path]) => path.at(-1) === 'application/json');
    const without = bodies.filter(([, { examples: own }]) => !Object.keys(own ?? {}).length);
    expect(without.map(([path]) => path)).toEqual([]);
  });

  test.each(examples)('match their schema: $at', ({ place, value }) => {
    const validate = getValidator(...place, 'schema');
    validate(value);
    expect(validate.errors).toBeNull();
  });
});

/** Yields variants of a value with one error each, for every part of it. */
function* yieldInvalid(value: unknown): Generator<unknown> {
  yield* [null, 7, 'no such word', {}];
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const wrong of yieldInvalid(item)) yield value.with(index, wrong);
  } else if (typeof value === 'object' && value !== null) {
    yield { ...value, no_such_property: 1 };
    for (const [key, item] of Object.entries(value)) {
      yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== key));
      for (const wrong of yieldInvalid(item)) yield { ...value, [key]: wrong };
    }
  }
}

const headers = new Headers({
  'Content-Type': 'application/json; charset=utf-8',
  'WWW-Authenticate': 'Bearer',
  'Retry-After': '1',
});

function matchesSpecification(
  request: { method: string; path: string },
  status: number,
  body: unknown,
): boolean {
  try {
    checkAgainstSpecification(request, { status, headers, text: JSON.stringify(body) });
    return true;
  } catch {
    return false;
  }
}

/**
 * Rules that the document states only in words: `reauth_reason` is present exactly if `needs_reauth` is true, and
 * `error_message` exactly if the status of the workspace is `error`.
 */
function breaksUnstatedRule(body: object): boolean {
  if ('needs_reauth' in body) return (body.needs_reauth === true) !== 'reauth_reason' in body;
  const workspaces = 'workspaces' in body && Array.isArray(body.workspaces) ? body.workspaces : [];
  return workspaces.some((item) => (Object(item).status === 'error') !== 'error_message' in Object(item));
}

describe('the document accepts exactly the replies that the specification allows', () => {
  const replies = operations.filter(({ operation }) => 200 in operation.responses);

  test.each(replies)('$method $path: 200', ({ path, method }) => {
    const validate = getBodyValidator(path, method.toLowerCase(), 200);
    const request = { method, path: path.replace('{id}', 'id') };
    const bodies = examples
      .filter(({ value }) => validate(value))
      .flatMap(({ value }) => [value, ...yieldInvalid(value)]);
    expect(bodies.length).toBeGreaterThan(10);
    const disputed = bodies.filter(
      (body) =>
        validate(body) !== matchesSpecification(request, 200, body) && !breaksUnstatedRule(Object(body)),
    );
    expect(disputed).toEqual([]);
  });
});

describe('ErrorResponse', () => {
  const validate = getValidator('components', 'schemas', 'ErrorResponse');
  const isAllowed = new Ajv2020({ strict: false }).compile(errorResponse);
  const bodies = examples
    .filter(({ place }) => Number(place[place.indexOf('responses') + 1]) >= 400)
    .map(({ value }) => value);

  test('is the schema of every error of every operation', () => {
    const schemas = operations.flatMap(({ operation }) =>
      Object.entries(operation.responses)
        .filter(([status]) => Number(status) >= 400)
        .map(([, response]) => JSON.stringify(Reflect.get(response, 'content')?.['application/json'].schema)),
    );
    expect(new Set(schemas)).toEqual(new Set(['{"$ref":"#/components/schemas/ErrorResponse"}']));
  });

  test('accepts every error of the examples, and nothing that the specification forbids', () => {
    expect(bodies.length).toBeGreaterThan(20);
    expect(bodies.filter((body) => !validate(body))).toEqual([]);
    const accepted = bodies.flatMap((body) => [...yieldInvalid(body)]).filter((body) => validate(body));
    expect(accepted.length).toBeGreaterThan(20);
    expect(accepted.filter((body) => !isAllowed(body))).toEqual([]);
  });
});
