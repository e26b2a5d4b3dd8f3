import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { type RestRequest, rest } from '../support/client.ts';
import { type TestGateway, useGateway } from '../support/gateway.ts';
import { checkAgainstOpenApi, findResponse, getValidator, operations } from '../support/openapi.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member, signToken } from '../support/tokens.ts';

/** A list costs points by its limit, which these tests set to the largest. */
const highLimits = { RATE_LIMIT_READS_PER_MINUTE: '1000000000', RATE_LIMIT_WRITES_PER_MINUTE: '1000' };
const gateway = useGateway(highLimits);
const limited = useGateway({ RATE_LIMIT_READS_PER_MINUTE: '1', RATE_LIMIT_WRITES_PER_MINUTE: '1' }, gateway);
/** A gateway whose database has no tables. */
const broken = useGateway(highLimits);
const token = await member('alice');
beforeAll(async () => {
  await broken.database.sql('drop schema public cascade');
  for (const kind of notificationKinds) await publish(gateway, 'alice', kind, { id: kind });
  const failed = workspaceInput({ status: 'ERROR', errorMessage: 'No machine is free.' });
  await putWorkspaces(gateway, 'alice', [workspaceInput(), failed]);
});

type Call = { path: string; body?: unknown };

const examples: Record<string, Record<string, unknown>> = JSON.parse(
  readFileSync(new URL('../../src/openapi/examples.json', import.meta.url), 'utf8'),
);

/** A valid request of an operation: its body is an example, and a list is limited to one record. */
function toCall({ path, operation: { operationId, responses } }: (typeof operations)[number]): Call {
  const id = operationId === 'answerNotification' ? 'plan_requested' : 'task_failed';
  const [body] = Object.values(examples[`${operationId}.request`] ?? {});
  return { path: `${path.replace('{id}', id)}${304 in responses ? '?limit=1' : ''}`, body };
}

type Send = (method: string, call: Call) => Promise<{ status: number; headers: Headers }>;

const send = (changes: RestRequest & { at?: TestGateway; path?: string } = {}): Send => {
  const { at = gateway, path, ...sent } = changes;
  return (method, call) => rest(at, method, path ?? call.path, { token, ...call, ...sent });
};

/** The request for each status. */
const requestsByStatus: Record<number, Send> = {
  200: send(),
  204: send(),
  304: send({ headers: { 'If-None-Match': '*' } }),
  // The only cause of a 400 that every operation has.
  400: async (method, { path }) => {
    const reply = await sendRaw(gateway, rawRequest(`${method} ${path}`, ['Host: another.test']));
    checkAgainstOpenApi({ method, path }, reply);
    return reply;
  },
  401: send({ token: 'not-a-token' }),
  403: async (method, call) => send({ token: await signToken({ sub: 'alice', scope: '' }) })(method, call),
  404: async (method, call) =>
    send({ path: call.path.replace(/task_failed|plan_requested/, 'nobody') })(method, call),
  // The only cause of a 409: the request has another answer.
  409: async (method, call) => send({ body: { ...Object(call.body), answer_id: 'another' } })(method, call),
  422: async (method, call) =>
    send(call.body ? { body: {} } : { path: call.path.replace('task_failed', '') })(method, call),
  429: async (method, call) => {
    await send({ at: limited })(method, call);
    return send({ at: limited })(method, call);
  },
  500: send({ at: broken }),
};

test('the document contains exactly the paths and statuses of the contract', () => {
  const documented = operations.map(({ method, path, operation }) => [
    `${method} ${path}`,
    Object.keys(operation.responses).join(' '),
  ]);
  expect(Object.fromEntries(documented)).toEqual({
    'POST /user/notifications/{id}/dismiss': '200 400 401 403 404 422 429 500',
    'GET /user/notifications/{id}': '200 400 401 403 404 422 429 500',
    'POST /user/notifications/{id}/answer': '200 400 401 403 404 409 422 429 500',
    'GET /user/notification-counts': '200 400 401 403 429 500',
    'POST /user/notifications/dismiss': '200 400 401 403 422 429 500',
    'POST /user/notifications/{id}/restore': '200 400 401 403 404 422 429 500',
    'POST /user/notifications/restore': '200 400 401 403 422 429 500',
    'GET /user/requests': '200 304 400 401 403 429 500',
    'GET /user/notifications': '200 304 400 401 403 429 500',
    'PUT /user/notification-preferences': '200 400 401 403 422 429 500',
    'PATCH /user/notification-preferences': '200 400 401 403 422 429 500',
    'GET /user/notification-preferences': '200 400 401 403 429 500',
    'PUT /editor/auth/subscription': '200 400 401 403 422 429 500',
    'GET /editor/auth': '200 400 401 403 429 500',
    'DELETE /editor/auth': '204 400 401 403 429 500',
    'GET /user/workspaces': '200 304 400 401 403 429 500',
    'GET /workspaces': '200 304 400 401 403 429 500',
  });
});

const quota = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

describe.each(operations.map((one) => ({ ...one, call: toCall(one) })))('$method $path', (row) => {
  const { method, operation, call } = row;

  test.each(Object.keys(operation.responses).map(Number))('returns %i as documented', async (status) => {
    const reply = await requestsByStatus[status]?.(method, call);

    expect(reply?.status).toBe(status);
    const documented = Object.keys(findResponse(operation, status)?.headers ?? {});
    // Malformed HTTP is rejected before the caller is identified.
    const isIdentified = status !== 400 && status !== 401;
    const expected = [...documented, 'X-Request-Id', ...(isIdentified ? quota : [])];
    expect(expected.filter((name) => !reply?.headers.has(name))).toEqual([]);
  });
});

/** Characters at the boundaries of the allowed ranges. */
const characters = [0x00, 0x0a, 0x1f, 0x20, 0x21, 0x7e, 0x7f, 0x9f, 0xa0, 0x2028, 0xfffd, 0x1f600, 0x10ffff];
const edge = fc.constantFrom(...characters.map((code) => String.fromCodePoint(code)));
const printable = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code));

/** Short strings, and strings around a maximum length. */
const strings = (max: number) =>
  fc.oneof(
    fc.string({ unit: edge, maxLength: 3 }),
    fc.string({ unit: arbitraryCharacter, maxLength: 3 }),
    fc.string({ unit: printable, maxLength: 20 }),
    fc
      .tuple(fc.constantFrom('a', '~', '\u{1F600}'), fc.integer({ min: max - 1, max: max + 1 }))
      .map(([character, length]) => character.repeat(length)),
  );

test('accepts an ID if and only if it matches the OpenAPI document', async () => {
  const dismissal = ['paths', '/user/notifications/{id}/dismiss', 'post'];
  const validate = getValidator(...dismissal, 'parameters', '0', 'schema');
  // Excludes dot segments, which clients resolve before sending (RFC 3986, section 5.2.4).
  const ids = strings(255).filter((id) => id !== '.' && id !== '..');
  await fc.assert(
    fc.asyncProperty(ids, async (id) => {
      const { status } = await gateway
        .as('alice')
        .rest.post(`/user/notifications/${encodeURIComponent(id)}/dismiss`);
      expect(status).toBe(validate(id) ? 404 : 422);
    }),
    { numRuns: 100 },
  );
});

test.each([
  ['limit', 'Limit', 1],
  ['offset', 'Offset', 0],
] as const)(
  'accepts a number as %s if and only if it matches the OpenAPI document',
  async (name, component, minimum) => {
    const validate = getValidator('components', 'parameters', component, 'schema');
    const numbers = fc.oneof(
      fc.integer({ min: minimum - 3, max: minimum + 3 }),
      fc.integer({ min: 2 ** 31 - 4, max: 2 ** 31 + 4 }),
      fc.constantFrom(0.5, 1.5, 2 ** 53, 2 ** 60, 2 ** 63),
    );
    await fc.assert(
      fc.asyncProperty(numbers, async (number) => {
        const { status, body } = await gateway.as('alice').rest.get(`/user/workspaces?${name}=${number}`);
        expect(status).toBe(validate(number) ? 200 : 400);
        if (status === 400) expect(body.errors[0].message).toMatch(/ to 2147483647$/);
      }),
      { numRuns: 40 },
    );
  },
);

test.each(['accessToken', 'refreshToken'])(
  'accepts a credential as %s if and only if it matches the OpenAPI document',
  async (name) => {
    const validate = getValidator('components', 'schemas', 'EditorSubscription', 'properties', name);
    await fc.assert(
      fc.asyncProperty(strings(16_384), async (credential) => {
        const body = { accessToken: 'access', refreshToken: 'refresh', [name]: credential };
        const { status } = await gateway.as('alice').rest.put('/editor/auth/subscription', body);
        expect(status).toBe(validate(credential) ? 200 : 422);
      }),
      { numRuns: 100 },
    );
  },
);
