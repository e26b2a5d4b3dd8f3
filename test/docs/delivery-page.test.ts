import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_RETRIED } from '../../src/delivery/deliveries.ts';
import { shownDeliveryReasons, shownDeliveryStates } from '../../src/delivery/delivery.enums.ts';
import { MAX_SUBSCRIPTIONS } from '../../src/delivery/push-subscriptions.ts';
import { graphql } from '../support/client.ts';
import { type DevelopmentGateway, signTokenFor, startDevelopmentGateway } from '../support/development.ts';
import { type Block, readBlocks, readPage, tableBelow } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { captureOutput, type Process } from '../support/process.ts';
import { freePort } from '../support/servers.ts';
import { updateStatistics } from '../support/statistics.ts';

/* Runs the commands and operations of docs/delivery.md in order, as a reader does. */

const page = readPage('docs/delivery.md');
const blocks = readBlocks(page);

/** Returns the first block of a language that contains a text. */
const findBlock = (language: string, part: string): string =>
  blocks.find((block) => block.language === language && block.content.includes(part))?.content ??
  expect.unreachable(`no block with ${part}`);

let mailServer: Process;
let gateway: DevelopmentGateway;
/** The tokens of the page by the variable that contains them. */
let tokens: ReadonlyMap<string, string>;
beforeAll(async () => {
  const port = String(await freePort());
  const server = findBlock('bash', 'smtp-server').replace('1025', port);
  const child = spawn('sh', ['-c', `exec ${server}`], { stdio: ['ignore', 'pipe', 'pipe'] });
  mailServer = captureOutput(child, 'the mail server');
  gateway = await startDevelopmentGateway(
    readAssignments(findBlock('bash', 'npm start').replace('1025', port)),
  );
  const assignments = findBlock('sh', 'PLATFORM=').matchAll(/^(\w+)=\$\(npm run -s token -- (.*)\)$/gm);
  const signed = Array.from(
    assignments,
    async ([, name = '', options = '']): Promise<[string, string]> => [
      name,
      await signTokenFor(gateway, options),
    ],
  );
  tokens = new Map(await Promise.all(signed));
  // Otherwise the first attempt fails, and the reply differs.
  await eventually(async () => {
    const connection = createConnection(Number(port));
    await once(connection, 'connect');
    connection.destroy();
  });
});
afterAll(async () => {
  await gateway.close();
  await mailServer.stop();
});

/** Returns the variables that a command is started with. */
function readAssignments(command: string): Record<string, string> {
  const output = execFileSync('sh', ['-c', command.replace('npm start', 'env')], {
    env: {},
    encoding: 'utf8',
  });
  const pairs = output
    .trim()
    .split('\n')
    .map((line) => /^(\w+)=(.*)$/.exec(line) ?? []);
  return Object.fromEntries(
    pairs.map(([, name = '', value = '']) => [name, value]).filter(([name]) => name !== 'PWD'),
  );
}

/** The documented operations with the documented replies. */
const operations = blocks.flatMap((block, index): [Block, unknown][] => {
  const next = blocks[index + 1];
  return block.language === 'graphql' && next?.language === 'json' ? [[block, JSON.parse(next.content)]] : [];
});

/** Sends an operation. What is read can be delivered a moment later. */
async function expectReply({ info, content }: Block, expected: unknown): Promise<void> {
  const call = async () => {
    if (content.includes('statistics')) await updateStatistics(gateway.database);
    const { text } = await graphql(gateway, content, {}, { token: tokens.get(info || 'TOKEN') ?? '' });
    expect(JSON.parse(text)).toEqual(expected);
  };
  await (content.startsWith('mutation') ? call() : eventually(call));
}

/** Waits until the mail server has printed the only mail. */
async function receiveText(): Promise<string> {
  await mailServer.waitForOutput(/unsubscribe.+\n\n$/);
  return mailServer.stdout().trimEnd();
}

test('the operations return the documented replies, and the mail has the documented text', async () => {
  expect(operations.length).toBeGreaterThan(3);
  for (const [block, expected] of operations) await expectReply(block, expected);

  const text = await receiveText();
  const normalized = text
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/, '2026-05-04 10:00 UTC')
    .replace(/(unsubscribe\/)[\w-]+/, '$1<token>')
    .replace(/^-- $/m, '--');
  expect(normalized).toBe(findBlock('text', 'unsubscribe').trimEnd());
});

test('the link in the mail turns off email, and the next mail is not sent', async () => {
  const [, token = ''] = /unsubscribe\/([\w-]+)/.exec(await receiveText()) ?? [];
  const link = `${gateway.address}/unsubscribe/${token}`;
  expect(await (await fetch(link)).text()).toContain('<button>');
  expect((await fetch(link, { method: 'POST' })).status).toBe(200);

  const publish = findBlock('graphql', 'deliverByCaller').replace('run-82-failed', 'run-83-failed');
  const { data } = await graphql(gateway, publish, {}, { token: tokens.get('PLATFORM') ?? '' });
  expect(data.publishNotification).toEqual({
    channels: ['PUSH', 'CHAT_DM'],
    deliverByCaller: ['PUSH', 'CHAT_DM'],
  });
  const query = '{ deliveries(notificationId: "run-83-failed") { channel state reason } }';
  const reply = await graphql(gateway, query, {}, { token: tokens.get('TOKEN') ?? '' });
  expect(reply.data.deliveries).toEqual([
    { channel: 'CHAT_DM', state: 'SKIPPED', reason: 'NO_PROVIDER' },
    { channel: 'EMAIL', state: 'SKIPPED', reason: 'CHANNEL_DISABLED' },
    { channel: 'PUSH', state: 'SKIPPED', reason: 'NO_PROVIDER' },
  ]);
});

test('every state and reason is documented', () => {
  const reasons = tableBelow(page, 'States').map(([reason = '']) => reason);
  expect(reasons.sort()).toEqual(shownDeliveryReasons.map((reason) => reason.toUpperCase()).sort());
  for (const state of shownDeliveryStates) expect(page.text).toContain(`\`${state.toUpperCase()}\``);
});

test('the documented limits are those of the code', () => {
  expect(page.text).toContain(`at most ${MAX_SUBSCRIPTIONS} subscriptions`);
  expect(page.text).toContain(`at most ${MAX_RETRIED.toLocaleString('en')}:`);
});
