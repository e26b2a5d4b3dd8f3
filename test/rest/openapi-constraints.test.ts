import fc from 'fast-check';
import { expect, test } from 'vitest';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { useGateway } from '../support/gateway.ts';
import { getValidator } from '../support/openapi.ts';

const gateway = useGateway();
const alice = gateway.as('alice');

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
      const { status } = await alice.rest.post(`/user/notifications/${encodeURIComponent(id)}/dismiss`);
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
        const { status, body } = await alice.rest.get(`/user/workspaces?${name}=${number}`);
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
        const { status } = await alice.rest.put('/editor/auth/subscription', body);
        expect(status).toBe(validate(credential) ? 200 : 422);
      }),
      { numRuns: 100 },
    );
  },
);
