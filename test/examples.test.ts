import { readdirSync } from 'node:fs';
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
import { openStream, subscribe } from './support/sse.ts';

const examples = readExamples();

let gateway: DevelopmentGateway;
beforeAll(async () => {
  gateway = await startDevelopmentGateway();
  await seed(gateway, 'alice');
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
  const textOf = ({ loc }: (typeof definitions)[number]) => query.slice(loc?.start, loc?.end);
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).map(textOf);
  return definitions
    .filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
    .map((operation) => ({
      type: operation.operation,
      document: [textOf(operation), ...fragments].join('\n'),
    }));
}

/** Publishes by the example of that name, so that something changes. */
async function publish(): Promise<void> {
  const { query = '', variables = '' } = examples.find(({ name }) => name === 'publish-notification') ?? {};
  const { errors } = await graphql(gateway, query, JSON.parse(variables), { token: await tokenFor(query) });
  expect(errors).toEqual([]);
}

test('every file of examples/ is an example or its variables, and all names differ', () => {
  const files = readdirSync('examples', { recursive: true, withFileTypes: true }).filter((it) => it.isFile());
  const withVariables = examples.filter(({ variables }) => variables !== '');
  expect(files).toHaveLength(examples.length + withVariables.length);
  expect(new Set(examples.map(({ name }) => name)).size).toBe(examples.length);
});

// From top to bottom, as somebody goes through GraphiQL's menu.
describe.each(examples)('the example $name', ({ query, variables }) => {
  const values = variables === '' ? {} : JSON.parse(variables);

  test('runs on the seeded records with the token that it names', async () => {
    const token = await tokenFor(query);
    for (const { type, document } of operationsOf(query)) {
      if (type === OperationTypeNode.SUBSCRIPTION) {
        const stream = await openStream(gateway, document, values, { token });
        await publish();
        expect((await stream.take()).errors).toEqual([]);
        stream.close();
        continue;
      }
      const { errors, data } = await graphql(gateway, document, values, { token });
      expect(errors).toEqual([]);
      // The one value that a reader has to copy from the operation before.
      if (data.editorCredential) values.input.version = data.editorCredential.version;
      for (const result of Object.values<object>(data)) {
        expect(result).not.toBeNull();
        // None shows an empty list where it could show something.
        for (const list of Object.values(result)) expect(list).not.toEqual([]);
      }
    }
  });

  test('does not run with a token that allows nothing', async () => {
    const token = await tokenFor(query, '');
    for (const { type, document } of operationsOf(query)) {
      const send = type === OperationTypeNode.SUBSCRIPTION ? subscribe : graphql;
      const { errors } = await send(gateway, document, values, { token });
      expect(errors.map(({ extensions }) => extensions.code)).toContain('FORBIDDEN');
    }
  });
});
