import { makeFolder, removeFolder } from './folder.ts';
import { startTestGateway, type TestGateway } from './gateway.ts';
import { runProcess } from './process.ts';

/** A gateway as `npm start` runs it on one's own machine: it signs and takes tokens of a key of its own. */
export type DevelopmentGateway = TestGateway & {
  /** Settings by which commands find the gateway and its key. */
  settings: Record<string, string>;
};

/** Starts one, with a folder of its own for the key. */
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

/** Fills in a user's records by the command that the README names. */
export async function seed({ settings }: DevelopmentGateway, user: string): Promise<void> {
  const { status, stderr } = await runProcess('src/commands/seed.ts', settings, ['--user', user]);
  if (status !== 0) throw new Error(stderr);
}
