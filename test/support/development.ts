import { parseArgs } from 'node:util';
import { signDevelopmentToken } from '../../src/config/development-keys.ts';
import { makeFolder, removeFolder } from './folder.ts';
import { startTestGateway, type TestGateway } from './gateway.ts';
import { runProcess } from './process.ts';

/** A gateway in development mode, as `npm start` runs it: it creates its own signing key. */
export type DevelopmentGateway = TestGateway & {
  /** Settings with which commands find the gateway and its key. */
  settings: Record<string, string>;
};

type Started = Pick<TestGateway, 'startLines'>;

/** Returns the URL of GraphiQL that a gateway printed. */
export const findGraphiqlUrl = (gateway: Started): string => findUrl(gateway, 'GraphiQL');

/** Returns the URL of the REST reference that a gateway printed. */
export const findReferenceUrl = (gateway: Started): string => findUrl(gateway, 'REST');

function findUrl({ startLines }: Started, name: string): string {
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
