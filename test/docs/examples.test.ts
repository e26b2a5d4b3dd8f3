import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { routes } from '../../rest/router.ts';
import { parseDocument, validateDocument } from '../../src/graphql/plugins/documents.ts';
import { schema } from '../../src/schema.ts';
import { graphql } from '../support/client.ts';
import {
  type DevelopmentGateway,
  seed,
  signTokenFor,
  startDevelopmentGateway,
} from '../support/development.ts';
import { type Block, normalize, type Page, pages, readBlocks, readPage } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { captureOutput, compileCache } from '../support/process.ts';
import { freePort } from '../support/servers.ts';
import { openStream } from '../support/sse.ts';

/*
 * Code blocks of the documentation, by language:
 * - `sh`: commands that are run. A `json` or `text` block that follows is their output.
 * - `graphql`: a document, sent with the token in the variable named after the language (`TOKEN` by default), if a `json`
 *   block with the reply follows. A `json variables` block in between contains its variables. Without a reply the
 *   document is only validated.
 * - `ts`, `tsx` and `js`: an excerpt of the file named after the language. Those of docs/adding-an-operation.md and
 *   docs/build-an-inbox.md do not exist: releases/contributing.test.ts and foreign/build-an-inbox.test.ts create them.
 * Blocks of other languages are not run.
 */

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** A command line, and the documented output. */
type Step = { command: string; output: Block | undefined };

function readSteps(page: Page): Step[] {
  const blocks = readBlocks(page);
  return blocks.flatMap(({ language, info, content }, index): Step[] => {
    const next = blocks[index + 1];
    if (language === 'sh') return [{ command: content, output: isOutput(next) ? next : undefined }];
    if (language !== 'graphql') return [];
    const variables = next?.info === 'variables' ? JSON.parse(next.content) : undefined;
    const output = variables === undefined ? next : blocks[index + 2];
    const command = requestCommand(info || 'TOKEN', { query: content, variables });
    return isOutput(output) && output.language === 'json' ? [{ command, output }] : [];
  });
}

function isOutput(block: Block | undefined): block is Block {
  return block?.info === '' && (block.language === 'json' || block.language === 'text');
}

function requestCommand(token: string, request: object): string {
  const headers = `-H "Authorization: Bearer $${token}" -H 'Content-Type: application/json'`;
  return `curl -s "$URL/graphql" ${headers} -d '${JSON.stringify(request).replaceAll("'", String.raw`'\''`)}'`;
}

/** Runs commands of `package.json` without npm. */
const PRELUDE = `set -e
npm() { name=$3; shift 4; "$NODE" "src/commands/$name.ts" "$@"; }
`;

/** Printed after the output of each step. */
const SEPARATOR = '\x1e';

/** Runs steps in one shell, so that later steps can use the variables of earlier ones. */
async function run(steps: readonly Step[], gateway: DevelopmentGateway): Promise<string[]> {
  // The next count would update the statistics within minutes.
  const update = `"$NODE" test/support/statistics.ts '${gateway.database.url}'\n`;
  const commands = steps
    .map(({ command }) => `${/\bstatistics \{/.test(command) ? update : ''}${command}\nprintf '\\036'\n`)
    .join('');
  const script =
    PRELUDE + (await insertTokens(commands, gateway)).replaceAll('http://127.0.0.1:4000', gateway.address);
  const environment = { NODE: process.execPath, NODE_COMPILE_CACHE: compileCache, ...gateway.settings };
  const { stdout } = await promisify(execFile)('sh', ['-c', script], {
    cwd: repository,
    env: { PATH: process.env.PATH, ...environment },
  });
  return stdout.split(SEPARATOR);
}

/** Signs the tokens in this process, which is faster than running the command for each. */
async function insertTokens(commands: string, gateway: DevelopmentGateway): Promise<string> {
  const pattern = /\$\(npm run -s token -- (.+)\)$/gm;
  const options = [...commands.matchAll(pattern)].map(([, options = '']) => options);
  const tokens = await Promise.all(options.map((options) => signTokenFor(gateway, options)));
  return commands.replace(pattern, () => tokens.shift() ?? '');
}

function parseOutput(text: string, { language }: Block): unknown {
  return language === 'json' ? JSON.parse(normalize(text)) : normalize(text).trim();
}

async function expectDocumented(steps: readonly Step[], at = gateway): Promise<void> {
  const outputs = await run(steps, at);
  for (const [index, { command, output }] of steps.entries()) {
    if (output === undefined) continue;
    expect(parseOutput(outputs[index] ?? '', output), command).toEqual(parseOutput(output.content, output));
  }
}

let gateway: DevelopmentGateway;
beforeAll(async () => {
  gateway = await startDevelopmentGateway({
    RATE_LIMIT_READS_PER_MINUTE: '600',
    RATE_LIMIT_WRITES_PER_MINUTE: '120',
  });
});
afterAll(() => gateway.close());

// Every page starts without records, like a reader's new gateway.
beforeEach(async () => {
  const token = await signTokenFor(gateway, '--sub test --scope platform:admin');
  const deletion = 'mutation { deleteUser(input: { userId: "alice" }) { deleted } }';
  expect((await graphql(gateway, deletion, {}, { token })).errors).toEqual([]);
});

// docs/delivery.md needs a mail server. graphql/examples.test.ts runs the operations of docs/editor-credentials.md, which
// depend on each other's results.
const otherPages = ['docs/delivery.md', 'docs/editor-credentials.md'];
const pagesWithSteps = pages.filter(
  (page) => !otherPages.includes(page.path) && readSteps(page).some(({ output }) => output !== undefined),
);

test.each(pagesWithSteps)('the commands and operations in $path return the documented output', (page) =>
  expectDocumented(readSteps(page)),
);

test('those in docs/delivery.md do, with the documented mail server and settings, and send the documented mail', async () => {
  const page = readPage('docs/delivery.md');
  const find = (part: string) =>
    readBlocks(page).find(({ content }) => content.includes(part))?.content ?? expect.unreachable(part);
  const port = await freePort();
  const program = find('require("smtp-server")').replace('1025', String(port));
  const server = spawn('sh', ['-c', `exec ${program}`], { stdio: ['ignore', 'pipe', 'pipe'] });
  const mails = captureOutput(server, 'the mail server');
  onTestFinished(() => void mails.stop());
  const assignments = find('npm start').matchAll(/([A-Z_]+)=(?:'([^']*)'|(\S+))/g);
  const settings = Array.from(assignments, ([, name, quoted, value = '']) => [
    name,
    quoted ?? value.replace('1025', String(port)),
  ]);
  const sending = await startDevelopmentGateway(Object.fromEntries(settings));
  onTestFinished(() => sending.close());
  // Otherwise the first attempt fails, and the reply differs.
  await eventually(() => once(connect(port).end(), 'connect'));

  const steps = readSteps(page);
  const isLater = ({ command }: Step) => /deliveries|Deliveries|statistics/.test(command);
  await expectDocumented(
    steps.filter((step) => !isLater(step)),
    sending,
  );
  await mails.waitForOutput(/unsubscribe.+\n\n$/);
  const normalized = mails
    .stdout()
    .trimEnd()
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/, '2026-05-04 10:00 UTC')
    .replace(/(unsubscribe\/)[\w-]+/, '$1<token>')
    .replace(/^-- $/m, '--');
  expect(normalized).toBe(find('unsubscribe/<token>').trimEnd());
  const later = steps.filter((step) => step === steps[0] || isLater(step));
  await eventually(() => expectDocumented(later, sending));
  const [link = expect.unreachable()] = /\/unsubscribe\/[\w-]+/.exec(mails.stdout()) ?? [];
  expect((await fetch(sending.address + link, { method: 'POST' })).status).toBe(200);
});

test('the README calls both APIs, and the tour every REST path', () => {
  const readCommands = (path: string) =>
    pages
      .filter((page) => page.path === path)
      .flatMap((page) => readSteps(page).map(({ command }) => command));
  expect(readCommands('README.md').join('\n')).toMatch(/"\$URL\/user\/.+"\$URL\/graphql"/s);
  const tour = readCommands('docs/tour.md').join('\n');
  for (const { method, path } of routes) {
    const verb = method === 'get' ? '' : `-X ${method.toUpperCase()} `;
    expect(tour).toMatch(new RegExp(`curl -s ${verb}"\\$URL${path.replace(/{.*?}/, '[^/"]+')}["?]`));
  }
});

test('the stream in docs/live-events.md begins with the documented event', async () => {
  const page = readBlocks(readPage('docs/live-events.md'));
  const find = (pattern: RegExp) =>
    page.map(({ content }) => pattern.exec(content)?.[1]).find((found) => found !== undefined) ?? '';
  const { query } = JSON.parse(find(/^curl -N .*-d '(.+)'$/ms));
  const token = await signTokenFor(gateway, find(/npm run -s token -- (.+)\)$/m));
  const stream = await openStream(gateway, query, {}, { token });
  await seed(gateway, 'carol');
  const { data } = await stream.take();
  stream.close();
  // The record is dismissed at once. A slow stream reports only its latest state.
  const event = JSON.stringify({ data }).replace('"DISMISSED"', '"CREATED"');
  expect(JSON.parse(normalize(event))).toEqual(JSON.parse(normalize(find(/^data: (.+)$/m))));
});

const blocks = pages.flatMap(readBlocks);

test('documented GraphQL documents are valid', () => {
  const documents = blocks.filter(({ language }) => language === 'graphql').map(({ content }) => content);
  expect(documents.length).toBeGreaterThan(10);
  for (const text of documents) expect(validateDocument(schema, parseDocument(text)), text).toEqual([]);
});

test('documented TypeScript and JavaScript are excerpts of tested files', () => {
  const ofPackages = ['clients/typescript/README.md', 'clients/react/README.md'].map(readPage);
  const excerpts = [...pages, ...ofPackages]
    .filter(({ path }) => !['docs/adding-an-operation.md', 'docs/build-an-inbox.md'].includes(path))
    .flatMap(readBlocks)
    .filter(({ language }) => ['ts', 'tsx', 'js'].includes(language));
  expect(excerpts.length).toBeGreaterThan(1);
  for (const { info, content } of excerpts) {
    expect(readFileSync(`${repository}/${info}`, 'utf8')).toContain(content);
  }
});
