import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Kind, OperationTypeNode, parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readExamples } from '../src/pages/graphiql-examples.ts';
import { graphql } from './support/client.ts';
import {
  type DevelopmentGateway,
  seed,
  signTokenFor,
  startDevelopmentGateway,
} from './support/development.ts';
import { rootFields } from './support/root-fields.ts';
import { openStream, subscribe } from './support/sse.ts';

const examples = readExamples();

let gateway: DevelopmentGateway;
beforeAll(async () => {
  gateway = await startDevelopmentGateway();
  await seed(gateway, 'alice');
  await seed(gateway, 'bob');
});
afterAll(() => gateway.close());

/** A token as the comment of an example says how to get it, with another scope where one is given. */
function tokenFor(query: string, otherScope?: string): Promise<string> {
  const [, options = ''] = /^# {3}npm run -s token -- (.+)$/m.exec(query) ?? [];
  return signTokenFor(gateway, options, otherScope);
}

/** The operations of an example, each as a document of its own. */
function operationsOf(query: string): { type: OperationTypeNode; document: string }[] {
  const { definitions } = parse(query);
  const readSource = ({ loc }: (typeof definitions)[number]) => query.slice(loc?.start, loc?.end);
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).map(readSource);
  return definitions
    .filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
    .map((operation) => ({
      type: operation.operation,
      document: [readSource(operation), ...fragments].join('\n'),
    }));
}

/** Runs the example of that name and returns its data. */
async function runExample(name: string) {
  const { query = '', variables = '' } = examples.find((example) => example.name === name) ?? {};
  const token = await tokenFor(query);
  const { errors, data } = await graphql(gateway, query, JSON.parse(variables), { token });
  expect(errors).toEqual([]);
  return data;
}

/** The variables of an example, with the one value that a reader has to copy from another example's result. */
async function valuesOf(variables: string) {
  const values = variables === '' ? {} : JSON.parse(variables);
  if (values.input?.version !== undefined) {
    values.input.version = (await runExample('read-editor-credential')).editorCredential.version;
  }
  return values;
}

test('every file of examples/ is an example or its variables, and all names differ', () => {
  const files = readdirSync('examples', { recursive: true, withFileTypes: true }).filter((it) => it.isFile());
  const withVariables = examples.filter(({ variables }) => variables !== '');
  expect(files).toHaveLength(examples.length + withVariables.length);
  expect(new Set(examples.map(({ name }) => name)).size).toBe(examples.length);
});

test('every operation of the platform has an example', () => {
  const shown = new Set(
    examples
      .flatMap(({ query }) =>
        parse(query).definitions.flatMap((definition) =>
          definition.kind === Kind.OPERATION_DEFINITION ? definition.selectionSet.selections : [],
        ),
      )
      .map((field) => (field.kind === Kind.FIELD ? field.name.value : '')),
  );
  const names = Object.entries(rootFields)
    .filter(([, { extensions }]) => extensions.access?.bucket === 'platform')
    .map(([name]) => name);
  expect(names).toContain('deleteUser');
  expect(names.filter((name) => !shown.has(name))).toEqual([]);
});

test('the page on refreshing shows its examples as they are', async () => {
  const page = await readFile('docs/editor-refresh.md', 'utf8');
  const shown = [...page.matchAll(/^```graphql\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const withoutComment = (query: string) => query.replace(/^#.*\n+/gm, '');
  const operations = [
    'read-editor-credential',
    'claim-editor-credential-refresh',
    'refresh-editor-credential',
    'report-editor-auth-failure',
  ].map((name) => withoutComment(examples.find((example) => example.name === name)?.query ?? ''));
  expect(shown).toEqual(operations);
});

// From top to bottom, as somebody goes through GraphiQL's menu.
describe.each(examples)('the example $name', ({ query, variables }) => {
  test('runs on the seeded records with the token that it names', async () => {
    const values = await valuesOf(variables);
    const token = await tokenFor(query);
    for (const { type, document } of operationsOf(query)) {
      if (type === OperationTypeNode.SUBSCRIPTION) {
        const stream = await openStream(gateway, document, values, { token });
        await runExample('publish-notification');
        expect((await stream.take()).errors).toEqual([]);
        stream.close();
        continue;
      }
      const { errors, data } = await graphql(gateway, document, values, { token });
      expect(errors).toEqual([]);
      for (const result of Object.values<object>(data)) {
        expect(result).not.toBeNull();
        // None shows an empty list where it could show something.
        for (const list of Object.values(result)) expect(list).not.toEqual([]);
        // None is about something that is missing.
        for (const name of ['deleted', 'granted', 'applied']) expect(result).not.toHaveProperty(name, false);
      }
    }
  });

  test('does not run with a token that allows nothing', async () => {
    const values = variables === '' ? {} : JSON.parse(variables);
    const token = await tokenFor(query, '');
    for (const { type, document } of operationsOf(query)) {
      const send = type === OperationTypeNode.SUBSCRIPTION ? subscribe : graphql;
      const { errors } = await send(gateway, document, values, { token });
      expect(errors.map(({ extensions }) => extensions.code)).toContain('FORBIDDEN');
    }
  });
});
