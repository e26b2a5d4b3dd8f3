import { parseArgs } from 'node:util';
import { Kind, type OperationTypeNode, parse } from 'graphql';
import { signDevelopmentToken } from '../../src/config/development-keys.ts';
import { readExamples } from '../../src/pages/graphiql-examples.ts';
import { graphql } from './client.ts';
import { makeFolder, removeFolder } from './folder.ts';
import { startTestGateway, type TestGateway } from './gateway.ts';
import { runProcess } from './process.ts';
import { updateStatistics } from './statistics.ts';

/** A gateway in development mode, as `npm start` runs it: it creates its own signing key. */
export type DevelopmentGateway = TestGateway & {
  /** Settings with which commands find the gateway and its key. */
  settings: Record<string, string>;
};

/** Returns a URL that a gateway printed: of GraphiQL, or of the REST reference. */
export function findUrl({ startLines }: Pick<TestGateway, 'startLines'>, name: 'GraphiQL' | 'REST'): string {
  const [, url] = new RegExp(`^${name} +(\\S+)$`, 'm').exec(startLines.join('\n')) ?? [];
  if (url === undefined) throw new Error(`The gateway printed no URL of ${name}.`);
  return url;
}

/** Starts a development gateway with its own data directory. */
export async function startDevelopmentGateway(
  environment: Record<string, string> = {},
): Promise<DevelopmentGateway> {
  const folder = await makeFolder();
  const noKeySet = { AUTH_JWKS: '', AUTH_ISSUER: '', AUTH_AUDIENCE: '' };
  const gateway = await startTestGateway({ ...noKeySet, DATA_DIR: folder, ...environment });
  return {
    ...gateway,
    settings: { DATA_DIR: folder, PORT: new URL(gateway.address).port },
    async close() {
      await gateway.close();
      await removeFolder(folder);
    },
  };
}

/** Signs a token with the options of `npm run -s token`, optionally with another scope. */
export function signTokenFor(
  { settings }: DevelopmentGateway,
  options: string,
  otherScope?: string,
): Promise<string> {
  const args = [...options.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
  const { sub, org, scope } = parseArgs({
    args,
    options: { sub: { type: 'string' }, org: { type: 'string' }, scope: { type: 'string' } },
  }).values;
  const claims = { sub, ...(org !== undefined && { org_id: org }), scope: otherScope ?? scope };
  const key = { dataDir: settings.DATA_DIR ?? '', issuer: null, audience: null };
  return signDevelopmentToken(key, claims, 60);
}

/** Creates a user's records with the documented command. */
export async function seed({ settings }: DevelopmentGateway, user: string): Promise<void> {
  const { status, stderr } = await runProcess('src/commands/seed.ts', settings, ['--user', user]);
  if (status !== 0) throw new Error(stderr);
}

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
  return definitions.flatMap((one) =>
    one.kind === Kind.OPERATION_DEFINITION
      ? [{ type: one.operation, document: [readSource(one), ...fragments].join('\n') }]
      : [],
  );
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
