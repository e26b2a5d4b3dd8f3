import { Kind, type OperationTypeNode, parse } from 'graphql';
import { readExamples } from '../../src/pages/graphiql-examples.ts';
import { graphql } from './client.ts';
import { type DevelopmentGateway, seed, signTokenFor, startDevelopmentGateway } from './development.ts';
import { updateStatistics } from './statistics.ts';

/** The examples, in the order of GraphiQL's menu. */
export const examples = readExamples();

/** Starts a gateway with the records that the examples read. */
export async function startExampleGateway(): Promise<DevelopmentGateway> {
  // Deliveries over chat are queued and not sent, so that lists of deliveries are not empty.
  const gateway = await startDevelopmentGateway({ CHAT_TOKEN: 'xoxb-1', DELIVERY: 'false' });
  await runExample(gateway, 'put-contact');
  await seed(gateway, 'alice');
  await seed(gateway, 'bob');
  await updateStatistics(gateway.database);
  return gateway;
}

/** Signs the token that an example's comment names, optionally with another scope. */
export function signExampleToken(
  gateway: DevelopmentGateway,
  query: string,
  otherScope?: string,
): Promise<string> {
  const [, options = ''] = /^# {3}npm run -s token -- (.+)$/m.exec(query) ?? [];
  return signTokenFor(gateway, options, otherScope);
}

/** Returns the operations of an example, each as a separate document. */
export function splitOperations(query: string): { type: OperationTypeNode; document: string }[] {
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

/** Runs an example by name and returns its data. @throws {Error} if it fails */
export async function runExample(gateway: DevelopmentGateway, name: string) {
  const { query = '', variables = '' } = examples.find((example) => example.name === name) ?? {};
  const token = await signExampleToken(gateway, query);
  const { errors, data, text } = await graphql(gateway, query, await resolveVariables(gateway, variables), {
    token,
  });
  if (errors.length > 0) throw new Error(text);
  return data;
}

/** Returns an example's variables, with the version that a reader must copy from another example's result. */
export async function resolveVariables(gateway: DevelopmentGateway, variables: string) {
  const values = variables === '' ? {} : JSON.parse(variables);
  if (values.input?.version !== undefined) {
    const { editorCredential } = await runExample(gateway, 'read-editor-credential');
    values.input.version = editorCredential.version;
  }
  return values;
}
