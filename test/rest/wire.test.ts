import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { toBodyPath } from '../../rest/binding.ts';
import {
  containsSecret,
  createSerializer,
  nullableText,
  onlyWhile,
  secret,
  toArguments,
  toSelection,
  variant,
} from '../../rest/wire.ts';

/** Writes a result and parses it. */
const write = (of: z.core.$ZodType, result: unknown): unknown =>
  JSON.parse(JSON.stringify(createSerializer(of)(result)));

const color = z.enum(['dark_red', 'blue']);
const shape = z.strictObject({
  item_id: z.string(),
  color,
  maybe_null: z.string().nullable(),
  left_out: z.string().optional(),
  some_words: z.array(color),
  inner_part: z.strictObject({ is_on: z.boolean(), count: z.int().nullable() }),
  parts: z.array(z.strictObject({ part_name: z.string().optional() })),
  foreign_json: z.looseObject({ any_key: z.string() }),
});

const animals = z.discriminatedUnion('kind', [
  variant('CatType', { kind: z.literal('cat'), lives_left: z.int() }),
  variant('DogType', { kind: z.literal('dog') }),
]);

test.each<[what: string, of: z.core.$ZodType, selection: string]>([
  [
    'a shape: GraphQL fields with wire names as aliases, and arbitrary JSON without subfields',
    shape,
    '{ item_id: itemId color maybe_null: maybeNull left_out: leftOut some_words: someWords ' +
      'inner_part: innerPart { is_on: isOn count } parts { part_name: partName } foreign_json: foreignJson }',
  ],
  ['an array: the fields of its items', z.array(z.strictObject({ a_b: z.string() })), '{ a_b: aB }'],
  ['a leaf: none', z.string().nullable().optional(), ''],
  [
    'a union: a fragment per type',
    animals,
    '{ ... on CatType { kind lives_left: livesLeft } ... on DogType { kind } }',
  ],
])('selects for %s', (_what, of, selection) => {
  expect(toSelection(of)).toBe(selection);
});

test('a result that matches no variant throws', () => {
  expect(() => write(animals, { kind: 'COW' })).toThrow('No variant');
});

test('a field with a condition is present exactly while it holds, even if it is null', () => {
  const state = z.strictObject({
    status: z.enum(['good', 'bad']),
    error_message: onlyWhile('status', 'bad', nullableText('The error.')),
  });
  expect(toSelection(state)).toBe('{ status error_message: errorMessage }');
  for (const error_message of ['x', null]) {
    expect(write(state, { status: 'GOOD', error_message })).toEqual({ status: 'good' });
    expect(write(state, { status: 'BAD', error_message })).toEqual({ status: 'bad', error_message });
  }
});

test('writes enum values in lower case, null for nullable fields, and omits unset optional fields', () => {
  const result = {
    item_id: 'ID',
    color: 'DARK_RED',
    maybe_null: null,
    left_out: null,
    some_words: ['BLUE', 'DARK_RED'],
    inner_part: { is_on: false, count: 0 },
    parts: [{ part_name: 'KEPT' }, { part_name: null }],
    foreign_json: { any_key: 'KEPT', someThing: null, nested: { color: 'BLUE' } },
  };
  const wire = write(shape, result);
  expect(wire).toEqual({
    item_id: 'ID',
    color: 'dark_red',
    maybe_null: null,
    some_words: ['blue', 'dark_red'],
    inner_part: { is_on: false, count: 0 },
    parts: [{ part_name: 'KEPT' }, {}],
    foreign_json: { any_key: 'KEPT', someThing: null, nested: { color: 'BLUE' } },
  });
  expect(shape.safeParse(wire).success).toBe(true);
});

const bodies = fc.record(
  {
    item_id: fc.string(),
    color: fc.constantFrom('dark_red', 'blue'),
    maybe_null: fc.option(fc.string()),
    left_out: fc.string(),
    some_words: fc.array(fc.constantFrom('dark_red', 'blue')),
    inner_part: fc.record({ is_on: fc.boolean(), count: fc.option(fc.integer()) }),
    parts: fc.array(fc.record({ part_name: fc.string() }, { requiredKeys: [] })),
    foreign_json: fc.constant({ any_key: 'AnyValue', some_thing: { left_out: null } }),
  },
  {
    requiredKeys: ['item_id', 'color', 'maybe_null', 'some_words', 'inner_part', 'parts', 'foreign_json'],
  },
);

/** Applies the aliases of a selection to arguments, as if GraphQL had returned them. */
function applyAliases(of: z.core.$ZodType, value: unknown): unknown {
  if (of instanceof z.ZodOptional || of instanceof z.ZodNullable) return applyAliases(of.unwrap(), value);
  if (of instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => applyAliases(of.element, item));
  if (!(of instanceof z.ZodObject) || !(of.def.catchall instanceof z.ZodNever)) return value;
  const selected = [...toSelection(z.strictObject(of.shape)).matchAll(/(\w+): (\w+)/g)];
  const fieldByAlias = new Map(selected.map(([, alias, field]) => [alias, field]));
  return Object.fromEntries(
    Object.entries(of.shape).map(([name, inner]) => [
      name,
      applyAliases(inner, Reflect.get(value ?? {}, fieldByAlias.get(name) ?? name)),
    ]),
  );
}

test('converting a body to arguments and back returns the same body', () => {
  fc.assert(
    fc.property(bodies, (body) => {
      const given = toArguments(shape, body);
      expect(write(shape, applyAliases(shape, given))).toEqual(body);
    }),
  );
});

test('the path of an argument maps to the position of its value in the body', () => {
  const listPaths = (value: unknown, path: (string | number)[] = []): (string | number)[][] => {
    if (typeof value !== 'object' || value === null) return [path];
    const entries = Object.entries(value);
    const step = (key: string) => (Array.isArray(value) ? Number(key) : key);
    return [path, ...entries.flatMap(([key, item]) => listPaths(item, [...path, step(key)]))];
  };
  const getAt = (value: unknown, path: readonly (string | number)[]) =>
    path.reduce<unknown>((inner, step) => Reflect.get(Object(inner), step), value);
  fc.assert(
    fc.property(bodies, (body) => {
      const given = toArguments(shape, body);
      for (const path of listPaths(given)) {
        const found = getAt(body, toBodyPath(shape, path));
        expect(found === undefined && getAt(given, path) !== undefined).toBe(false);
        if (typeof found !== 'object')
          expect(String(found).toUpperCase()).toBe(String(getAt(given, path)).toUpperCase());
      }
    }),
  );
});

test('maps argument paths to body paths, except inside arbitrary JSON', () => {
  expect(toBodyPath(shape, ['parts', 3, 'partName'])).toEqual(['parts', 3, 'part_name']);
  expect(toBodyPath(shape, ['foreignJson', 'someKey'])).toEqual(['foreign_json', 'someKey']);
  expect(toBodyPath(shape, ['unknownOne'])).toEqual(['unknownOne']);
});

test('detects a secret in any part of a shape', () => {
  expect(containsSecret(secret())).toBe(true);
  expect(containsSecret(z.array(z.strictObject({ inner: secret().optional() })))).toBe(true);
  expect(containsSecret(shape)).toBe(false);
});
