import { readdirSync } from 'node:fs';
import { Kind, OperationTypeNode, parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import type { DevelopmentGateway } from '../support/development.ts';
import {
  examples,
  resolveVariables,
  runExample,
  signExampleToken,
  splitOperations,
  startExampleGateway,
} from '../support/development.ts';
import { normalize, readBlocks, readPage } from '../support/documentation.ts';
import { rootFields } from '../support/root-fields.ts';
import { openStream, subscribe } from '../support/sse.ts';

let gateway: DevelopmentGateway;
beforeAll(async () => {
  gateway = await startExampleGateway();
});
afterAll(() => gateway.close());

test("every file of GraphiQL's examples is an example with a short title, or its variables", () => {
  const files = ['dashboard', 'platform', 'web-app'].flatMap((folder) => readdirSync(`examples/${folder}`));
  const withVariables = examples.filter(({ variables }) => variables !== '');
  expect(files).toHaveLength(examples.length + withVariables.length);
  for (const unique of [examples.map(({ name }) => name), examples.map(({ title }) => title)])
    expect(new Set(unique).size).toBe(examples.length);
  for (const { title, query } of examples) {
    expect(title).toMatch(/^[A-Z][\w' -]{4,44}$/);
    expect(query).toMatch(/^# .+\n#\n# [A-Z]/);
  }
});

test('every platform operation has an example', () => {
  const definitions = examples.flatMap(({ query }) => parse(query).definitions);
  const fields = definitions.flatMap((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION ? definition.selectionSet.selections : [],
  );
  const shown = new Set(fields.map((field) => (field.kind === Kind.FIELD ? field.name.value : '')));
  const names = Object.values(rootFields)
    .filter(({ extensions }) => extensions.access?.bucket === 'platform')
    .map(({ name }) => name);
  expect(names).toContain('deleteUser');
  expect(names.filter((name) => !shown.has(name))).toEqual([]);
});

test('docs/editor-credentials.md contains its examples unchanged, with the replies that they return', async () => {
  const blocks = readBlocks(readPage('docs/editor-credentials.md')).filter(
    ({ language }) => language !== 'bash',
  );
  const names = [
    'read-editor-credential',
    'claim-editor-credential-refresh',
    'refresh-editor-credential',
    'report-editor-auth-failure',
  ];
  expect(blocks).toHaveLength(3 * names.length);
  await runExample(gateway, 'connect-editor');
  for (const [index, name] of names.entries()) {
    const [operation, input, reply] = blocks.slice(3 * index).map(({ content }) => content);
    const { query = '', variables = '' } = examples.find((example) => example.name === name) ?? {};
    expect(operation).toBe(query.replace(/^#.*\n+/gm, ''));
    expect(JSON.parse(input ?? '')).toEqual(JSON.parse(variables));
    const data = await runExample(gateway, name);
    expect(JSON.parse(normalize(JSON.stringify({ data })))).toEqual(JSON.parse(normalize(reply ?? '')));
  }
});

// In the order of GraphiQL's menu.
describe.each(examples)('the example $name', ({ query, variables }) => {
  test('succeeds on the seeded records with the documented token', async () => {
    const values = await resolveVariables(gateway, variables);
    const token = await signExampleToken(gateway, query);
    for (const { type, document } of splitOperations(query)) {
      if (type === OperationTypeNode.SUBSCRIPTION) {
        const stream = await openStream(gateway, document, values, { token });
        await runExample(gateway, 'publish-notification');
        expect((await stream.take()).errors).toEqual([]);
        stream.close();
        continue;
      }
      const { errors, data } = await graphql(gateway, document, values, { token });
      expect(errors).toEqual([]);
      for (const result of Object.values<object>(data)) {
        expect(result).not.toBeNull();
        // Examples show no empty lists.
        for (const list of Object.values(result)) expect(list).not.toEqual([]);
        // Examples do not operate on missing records.
        for (const name of ['deleted', 'granted', 'applied']) expect(result).not.toHaveProperty(name, false);
      }
    }
  });

  test('is rejected for a token without scopes', async () => {
    const values = variables === '' ? {} : JSON.parse(variables);
    const token = await signExampleToken(gateway, query, '');
    for (const { type, document } of splitOperations(query)) {
      const send = type === OperationTypeNode.SUBSCRIPTION ? subscribe : graphql;
      const { errors } = await send(gateway, document, values, { token });
      expect(errors.map(({ extensions }) => extensions.code)).toContain('FORBIDDEN');
    }
  });
});
