import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentLimits } from '../src/graphql/execution/document-limits.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { type GatewayProcess, runProcess, startGatewayProcess } from './support/process.ts';

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');

/** Every command of the README that is followed by its reply. */
const steps = [...readme.matchAll(/```sh\n(.*?)```\n\n```(json|text)\n(.*?)\n```/gs)].map(
  ([, command = '', kind = '', reply = '']) => ({ command, kind, reply }),
);

let folder: string;
let gateway: GatewayProcess;
let environment: Record<string, string>;

beforeAll(async () => {
  folder = await makeFolder();
  const settings = { DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'error', GRAPHIQL: 'false' };
  gateway = await startGatewayProcess(settings);
  const { port } = new URL(gateway.address);
  await runProcess('src/commands/seed.ts', { ...settings, PORT: port }, ['--user', 'alice']);
  const token = async (...options: string[]) =>
    (await runProcess('src/commands/token.ts', settings, options)).stdout.trim();
  environment = {
    PATH: `${process.env.PATH}${delimiter}${await standInForCurl(folder)}`,
    URL: gateway.address,
    TOKEN: await token('--sub', 'alice', '--org', 'acme'),
    PLATFORM: await token('--sub', 'task-runner', '--scope', 'platform:write'),
  };
});
afterAll(async () => {
  await gateway.stop();
  await removeFolder(folder);
});

test('every command line of the tour gives the reply that the README shows', async () => {
  expect(steps.length).toBe(readme.match(/```sh\n/g)?.length);
  for (const { command, kind, reply } of steps) {
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { env: environment });
    const parse = (text: string) => (kind === 'json' ? JSON.parse(text) : text.trim());
    expect(parse(withoutTimes(stdout)), command).toEqual(parse(withoutTimes(reply)));
  }
});

test('the tour shows every REST path', () => {
  const shown = steps.map(({ command }) => command).join('\n');
  const table = [...readme.matchAll(/^\| `(GET|PUT|POST|DELETE) (\/[^`]+)`/gm)];
  expect(table).toHaveLength(8);
  for (const [, method, path = ''] of table) {
    const verb = method === 'GET' ? '' : `-X ${method} `;
    const address = new RegExp(`${verb}"\\$URL${path.replace('{id}', '[^/"]+')}["?]`);
    expect(shown).toMatch(address);
  }
});

test('the limits of GraphQL documents are the ones that hold', () => {
  const { characters, tokens, nesting, operations, depth, rootFields, aliases, directives, cost } =
    documentLimits;
  const [length, most, highest] = [characters, tokens, cost].map((limit) => limit.toLocaleString('en'));
  expect(readme.replace(/\s+/g, ' ')).toContain(
    `more than ${length} characters, ${most} tokens, ${nesting} nested brackets, ${operations} operations, ` +
      `${depth} levels of fields, ` +
      `${rootFields} root fields, ${aliases} aliases, ${directives} directives, or a cost of ${highest}.`,
  );
});

/** The replies were made on another day. */
function withoutTimes(text: string): string {
  return text.replace(/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>');
}

/** A folder with a `curl` for machines that have none; it comes last on the path. */
async function standInForCurl(folder: string): Promise<string> {
  const program = fileURLToPath(new URL('support/curl.ts', import.meta.url));
  const path = join(folder, 'curl');
  await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  await chmod(path, 0o755);
  return dirname(path);
}
