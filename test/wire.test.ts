import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  containsSecret,
  createWriter,
  secret,
  toArguments,
  toBodyPath,
  toSelection,
  variant,
} from '../rest/wire.ts';

/** What stands on the wire. */
const written = (of: z.core.$ZodType, result: unknown): unknown =>
  JSON.parse(JSON.stringify(createWriter(of)(result)));

const colour = z.enum(['dark_red', 'blue']);
const shape = z.strictObject({
  item_id: z.string(),
  colour,
  maybe_null: z.string().nullable(),
  left_out: z.string().optional(),
  some_words: z.array(colour),
  inner_part: z.strictObject({ is_on: z.boolean(), count: z.int().nullable() }),
  parts: z.array(z.strictObject({ part_name: z.string().optional() })),
  foreign_json: z.looseObject({ any_key: z.string() }),
});

test('a shape selects the fields of GraphQL under the names of the wire; JSON of somebody else is a leaf', () => {
  expect(toSelection(shape)).toBe(
    '{ item_id: itemId colour maybe_null: maybeNull left_out: leftOut some_words: someWords ' +
      'inner_part: innerPart { is_on: isOn count } parts { part_name: partName } foreign_json: foreignJson }',
  );
});

test('a list selects what its items do, and a leaf selects nothing', () => {
  expect(toSelection(z.array(z.strictObject({ a_b: z.string() })))).toBe('{ a_b: aB }');
  expect(toSelection(z.string().nullable().optional())).toBe('');
});

test('a union selects a fragment for each type, or the fields of all where it is one type', () => {
  const types = z.discriminatedUnion('kind', [
    variant('CatType', { kind: z.literal('cat'), lives_left: z.int() }),
    variant('DogType', { kind: z.literal('dog') }),
  ]);
  expect(toSelection(types)).toBe(
    '{ ... on CatType { kind lives_left: livesLeft } ... on DogType { kind } }',
  );
  const states = z.discriminatedUnion('status', [
    z.strictObject({ status: z.literal('good') }),
    z.strictObject({ status: z.literal('bad'), error_message: z.string().nullable() }),
  ]);
  expect(toSelection(states)).toBe('{ status error_message: errorMessage }');
  expect(written(states, { status: 'GOOD', error_message: 'stale' })).toEqual({ status: 'good' });
  expect(written(states, { status: 'BAD', error_message: null })).toEqual({
    status: 'bad',
    error_message: null,
  });
});

test('a result that fits no variant is a fault of ours', () => {
  const union = z.discriminatedUnion('kind', [z.strictObject({ kind: z.literal('cat') })]);
  expect(() => written(union, { kind: 'COW' })).toThrow('No variant');
});

test('words are written in lower case, what may be null as null, and what is optional is left out', () => {
  const result = {
    item_id: 'ID',
    colour: 'DARK_RED',
    maybe_null: null,
    left_out: null,
    some_words: ['BLUE', 'DARK_RED'],
    inner_part: { is_on: false, count: 0 },
    parts: [{ part_name: 'KEPT' }, { part_name: null }],
    foreign_json: { any_key: 'KEPT', someThing: null, nested: { colour: 'BLUE' } },
  };
  const wire = written(shape, result);
  expect(wire).toEqual({
    item_id: 'ID',
    colour: 'dark_red',
    maybe_null: null,
    some_words: ['blue', 'dark_red'],
    inner_part: { is_on: false, count: 0 },
    parts: [{ part_name: 'KEPT' }, {}],
    foreign_json: { any_key: 'KEPT', someThing: null, nested: { colour: 'BLUE' } },
  });
  expect(shape.safeParse(wire).success).toBe(true);
});

const bodies = fc.record(
  {
    item_id: fc.string(),
    colour: fc.constantFrom('dark_red', 'blue'),
    maybe_null: fc.option(fc.string()),
    left_out: fc.string(),
    some_words: fc.array(fc.constantFrom('dark_red', 'blue')),
    inner_part: fc.record({ is_on: fc.boolean(), count: fc.option(fc.integer()) }),
    parts: fc.array(fc.record({ part_name: fc.string() }, { requiredKeys: [] })),
    foreign_json: fc.constant({ any_key: 'AnyValue', some_thing: { left_out: null } }),
  },
  {
    requiredKeys: ['item_id', 'colour', 'maybe_null', 'some_words', 'inner_part', 'parts', 'foreign_json'],
  },
);

/** What GraphQL would answer under the aliases of `selectionOf`, were the arguments its fields. */
function aliased(of: z.core.$ZodType, value: unknown): unknown {
  if (of instanceof z.ZodOptional || of instanceof z.ZodNullable) return aliased(of.unwrap(), value);
  if (of instanceof z.ZodArray && Array.isArray(value)) return value.map((item) => aliased(of.element, item));
  if (!(of instanceof z.ZodObject) || !(of.def.catchall instanceof z.ZodNever)) return value;
  const selected = [...toSelection(z.strictObject(of.shape)).matchAll(/(\w+): (\w+)/g)];
  const fieldOf = new Map(selected.map(([, alias, field]) => [alias, field]));
  return Object.fromEntries(
    Object.entries(of.shape).map(([name, inner]) => [
      name,
      aliased(inner, Reflect.get(value ?? {}, fieldOf.get(name) ?? name)),
    ]),
  );
}

test('a body turned into arguments and written out again is the same body', () => {
  fc.assert(
    fc.property(bodies, (body) => {
      const given = toArguments(shape, body);
      expect(written(shape, aliased(shape, given))).toEqual(body);
    }),
  );
});

test('the path of an argument leads back to where its value stands in the body', () => {
  const pathsOf = (value: unknown, path: (string | number)[] = []): (string | number)[][] => {
    if (typeof value !== 'object' || value === null) return [path];
    const entries = Object.entries(value);
    const step = (key: string) => (Array.isArray(value) ? Number(key) : key);
    return [path, ...entries.flatMap(([key, item]) => pathsOf(item, [...path, step(key)]))];
  };
  const at = (value: unknown, path: readonly (string | number)[]) =>
    path.reduce<unknown>((inner, step) => Reflect.get(Object(inner), step), value);
  fc.assert(
    fc.property(bodies, (body) => {
      const given = toArguments(shape, body);
      for (const path of pathsOf(given)) {
        const found = at(body, toBodyPath(shape, path));
        expect(found === undefined && at(given, path) !== undefined).toBe(false);
        if (typeof found !== 'object')
          expect(String(found).toUpperCase()).toBe(String(at(given, path)).toUpperCase());
      }
    }),
  );
});

test.each<[argument: (string | number)[], body: (string | number)[]]>([
  [[], []],
  [['itemId'], ['item_id']],
  [
    ['parts', 3, 'partName'],
    ['parts', 3, 'part_name'],
  ],
  [
    ['innerPart', 'isOn'],
    ['inner_part', 'is_on'],
  ],
  [
    ['foreignJson', 'someKey', 'isOn'],
    ['foreign_json', 'someKey', 'isOn'],
  ],
  [['unknownOne'], ['unknownOne']],
])('the argument at %j came from %j', (argument, body) => {
  expect(toBodyPath(shape, argument)).toEqual(body);
});

test('a shape holds a secret where any part of it is one', () => {
  expect(containsSecret(secret())).toBe(true);
  expect(containsSecret(z.array(z.strictObject({ inner: secret().optional() })))).toBe(true);
  expect(containsSecret(shape)).toBe(false);
});
