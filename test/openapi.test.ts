import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../rest/router.ts';
import { printOpenApi } from '../src/commands/openapi.ts';
import { assembleSchema } from '../src/schema.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { getBodyValidator, getValidator, openApi, operations } from './support/openapi.ts';
import { checkAgainstSpecification } from './support/specification.ts';

let gateway: TestGateway;
let published: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  const settings = { PUBLIC_URL: 'https://example.test/account/', CORS_ORIGINS: 'https://app.example.test' };
  published = await startTestGateway(settings, gateway.database);
});
afterAll(async () => {
  await published.close();
  await gateway.close();
});

/** The document that a gateway serves, without its address. */
async function served({ address }: TestGateway) {
  const response = await fetch(`${address}/openapi.json`, {
    headers: { Origin: 'https://app.example.test' },
  });
  const { servers, ...document } = await response.json();
  return { response, servers, document };
}

test('rest/openapi.json is what the code makes (npm run openapi)', async () => {
  expect(printOpenApi()).toBe(await readFile(new URL('../rest/openapi.json', import.meta.url), 'utf8'));
});

describe('/openapi.json', () => {
  test('needs no token, and differs from rest/openapi.json in the address alone', async () => {
    const { response, servers, document } = await served(gateway);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(servers).toEqual([{ url: gateway.address }]);
    expect({ ...document, servers: [{ url: 'http://127.0.0.1:4000' }] }).toEqual(openApi);
  });

  test('names the address that callers see, with its path prefix', async () => {
    expect((await served(published)).servers).toEqual([{ url: 'https://example.test/account' }]);
  });

  test('has the security headers of every reply, and may be read by pages of configured origins', async () => {
    const { headers } = (await served(published)).response;
    expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example.test');
    expect((await served(gateway)).response.headers.get('access-control-allow-origin')).toBeNull();
  });
});

test('every operation is called as the root field that does its work', () => {
  const schema = assembleSchema();
  const fields = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
    Object.keys(type?.getFields() ?? {}),
  );
  const ids = Object.values(openApi.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(routes.length);
  expect(ids.filter((id) => !fields.includes(id))).toEqual([]);
});

/** Every node of the document with the path that leads to it. */
function* nodes(
  value: unknown,
  path: readonly string[] = [],
): Generator<[string[], Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [[...path], { ...value }];
  for (const [key, child] of Object.entries(value)) yield* nodes(child, [...path, key]);
}

/** The nodes that lie directly below a keyword and are no examples. */
const below = (...keywords: string[]) =>
  [...nodes(openApi)].filter(([path]) => keywords.includes(path.at(-2) ?? '') && !path.includes('examples'));

test('every component, property, parameter, header and response is described', () => {
  const described = below('properties', 'parameters', 'headers', 'schemas', 'responses', 'securitySchemes');
  expect(described.length).toBeGreaterThan(200);
  const silent = described.filter(([, node]) => !node.description && !node.$ref);
  expect(silent.map(([path]) => path.join('.'))).toEqual([]);
});

test('nothing but `input` takes properties that the specification does not know', () => {
  const open = [...nodes(openApi)].filter(
    ([, { type, additionalProperties }]) => type === 'object' && additionalProperties !== false,
  );
  expect(open.map(([path]) => path.slice(-3).join('.'))).toEqual([
    'PlanRequestedPayload.properties.input',
    'QuestionRequestedPayload.properties.input',
  ]);
});

test('credentials are required passwords', () => {
  const secret = { type: 'string', format: 'password' };
  expect(openApi.components.schemas.EditorSubscription).toMatchObject({
    properties: { accessToken: secret, refreshToken: secret },
    required: ['accessToken', 'refreshToken'],
  });
});

/** Every example of a body: where its schema lies, where it lies itself, and the value. */
const examples = [...nodes(openApi)].flatMap(([path, node]) =>
  path.at(-2) === 'examples'
    ? [{ place: path.slice(0, -2), at: path.slice(1).join(' '), value: node.value }]
    : [],
);

describe('examples', () => {
  test('every body has one', () => {
    const bodies = [...nodes(openApi)].filter(([path]) => path.at(-1) === 'application/json');
    expect(
      bodies.filter(([, { examples: own }]) => !Object.keys(own ?? {}).length).map(([path]) => path),
    ).toEqual([]);
  });

  test.each(operations)('$method $path has errors of its own scope and parts alone', ({ operation }) => {
    const { security, parameters = [], requestBody, responses } = operation;
    const names = parameters.flatMap((parameter) =>
      'name' in parameter ? [`${parameter.in}.${parameter.name}`] : ['query.limit', 'query.offset'],
    );
    const parts = requestBody === undefined ? names : [...names, 'body'];
    const errors = [...nodes(responses)].flatMap(([path, { value }]) =>
      path.at(-2) === 'examples' && Number(path[0]) >= 400 ? [JSON.stringify(value)] : [],
    );
    const find = (pattern: RegExp) =>
      errors.flatMap((text) => [...text.matchAll(pattern)].map(([, found]) => found));
    expect(new Set(find(/\\"(account:\w+)\\"/g))).toEqual(new Set(security.flatMap(({ bearer }) => bearer)));
    expect(find(/"location":"(body|\w+\.\w+)/g).filter((place) => !parts.includes(place ?? ''))).toEqual([]);
  });

  test.each(examples)('$at fits its schema', ({ place, value }) => {
    const validate = getValidator(...place, 'schema');
    validate(value);
    expect(validate.errors).toBeNull();
  });
});

/** A value with one thing wrong in it, for everything in it. */
function* spoilt(value: unknown): Generator<unknown> {
  yield* [null, 7, 'no such word', {}];
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const wrong of spoilt(item)) yield value.with(index, wrong);
  } else if (typeof value === 'object' && value !== null) {
    yield { ...value, no_such_property: 1 };
    for (const [key, item] of Object.entries(value)) {
      yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== key));
      for (const wrong of spoilt(item)) yield { ...value, [key]: wrong };
    }
  }
}

const headers = new Headers({
  'Content-Type': 'application/json; charset=utf-8',
  'WWW-Authenticate': 'Bearer',
  'Retry-After': '1',
});

function fitsSpecification(
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

/** What the document leaves to words: a reason is there exactly while the user must connect again. */
const isToldInWords = (body: object) =>
  'needs_reauth' in body && (body.needs_reauth === true) !== 'reauth_reason' in body;

describe('the document refuses what the specification does, and nothing else', () => {
  const replies = Object.entries(openApi.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) =>
      Object.keys(responses)
        .map(Number)
        .filter((status) => status !== 204 && status !== 304)
        .map((status) => ({ path, method, status })),
    ),
  );

  test.each(replies)('$method $path: $status', ({ path, method, status }) => {
    const validate = getBodyValidator(path, method, status);
    const request = { method: method.toUpperCase(), path: path.replace('{id}', 'id') };
    const bodies = examples
      .filter(({ value }) => validate(value))
      .flatMap(({ value }) => [value, ...spoilt(value)]);
    expect(bodies.length).toBeGreaterThan(10);
    const disputed = bodies.filter(
      (body) => validate(body) !== fitsSpecification(request, status, body) && !isToldInWords(Object(body)),
    );
    expect(disputed).toEqual([]);
  });
});
