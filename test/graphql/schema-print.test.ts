import { readFile } from 'node:fs/promises';
import {
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isNonNullType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql';
import { expect, test } from 'vitest';
import { formatSchema } from '../../src/commands/format-schema.ts';
import { conflictReasons, httpStatus } from '../../src/errors/gateway-errors.ts';
import { schema } from '../../src/schema.ts';

const types = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
);
const rootFields = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(
  (type) => Object.values(type?.getFields() ?? {}),
);

test('schema.graphql is generated from the code (npm run schema)', async () => {
  expect(formatSchema()).toBe(await readFile(new URL('../../schema.graphql', import.meta.url), 'utf8'));
});

type Described = { name: string; description?: string | null | undefined };

function listMembers(type: GraphQLNamedType): (Described & { args?: readonly Described[] })[] {
  if (isEnumType(type)) return [...type.getValues()];
  if (isInputObjectType(type)) return Object.values(type.getFields());
  if (isObjectType(type) || isInterfaceType(type)) return Object.values(type.getFields());
  return [];
}

test('every type, field, argument, input field and enum value is described', () => {
  const all = types.flatMap((type) => [
    [type.name, type.description],
    ...listMembers(type).flatMap((member) => [
      [`${type.name}.${member.name}`, member.description],
      ...(member.args ?? []).map((arg) => [`${type.name}.${member.name}(${arg.name})`, arg.description]),
    ]),
  ]);
  expect(all.length).toBeGreaterThan(200);
  expect(all.filter(([, description]) => !description?.trim()).map(([name]) => name)).toEqual([]);
});

test('every root field is nullable, so that one failure does not discard the others, except for subscriptions', () => {
  const alone = Object.keys(schema.getSubscriptionType()?.getFields() ?? {});
  expect(rootFields.filter(({ type }) => isNonNullType(type)).map(({ name }) => name)).toEqual(alone);
});

test('every root field declares its rate limit', () => {
  const printed = formatSchema();
  const isLimited = (name: string) =>
    new RegExp(`^  ${name}\\b[^\\n]*(\\n(?!  \\w)[^\\n]*)*@rateLimit\\(`, 'm').test(printed);
  expect(rootFields.map(({ name }) => name).filter((name) => !isLimited(name))).toEqual([]);
});

test('the schema lists every error code, and every reason of a conflict', () => {
  const valuesOf = (name: string) => {
    const type = schema.getType(name);
    return isEnumType(type) ? type.getValues().map(({ name }) => name) : [];
  };
  expect(valuesOf('ErrorCode').sort()).toEqual(Object.keys(httpStatus).sort());
  expect(valuesOf('ConflictReason').sort()).toEqual(Object.keys(conflictReasons).sort());
});
