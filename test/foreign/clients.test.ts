import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { asPlatform, credentialVersion, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member, signToken } from '../support/tokens.ts';
import { buildGoClient, buildPythonClient, type Client, hasPython } from './tools.ts';

let gateway: TestGateway;
let limited: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  const four = { RATE_LIMIT_READS_PER_MINUTE: '4', RATE_LIMIT_WRITES_PER_MINUTE: '4' };
  limited = await startTestGateway(four, gateway.database);
});
afterAll(async () => {
  await limited.close();
  await gateway.close();
});

/** A command for every path: four reads, and four changes. */
const commands = [
  'inbox',
  'preferences',
  'editor',
  'workspaces',
  'dismiss task_failed',
  'mail task_failed',
  'connect access refresh',
  'disconnect',
];
const ids = {
  running: '00000000-0000-4000-8000-000000000001',
  failed: '00000000-0000-4000-8000-000000000002',
};

/** Stores a notification of every kind, and a workspace with and one without an error. */
async function store(user: string): Promise<void> {
  for (const kind of ['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'] as const)
    await publish(gateway, user, kind, { id: kind });
  const failed = { id: ids.failed, status: 'ERROR', errorMessage: 'No machine is free.' };
  await putWorkspaces(gateway, user, [
    workspaceInput({ id: ids.running }),
    workspaceInput({ ...failed, createdAt: '2026-05-04T08:00:00.000Z' }),
  ]);
}

describe.skipIf(!hasPython).each([
  { generator: 'oapi-codegen', build: buildGoClient },
  { generator: 'openapi-python-client', build: buildPythonClient },
])('the client that $generator generates', ({ generator: user, build }) => {
  let client: Client;
  beforeAll(async () => {
    client = await build();
    await store(user);
  }, 300_000);

  /** Expects a line for each command. */
  async function expectLines(expected: readonly [command: string, line: string][]) {
    const sent = expected.map(([command]) => command);
    const lines = await client(gateway.address, await member(user), sent);
    expect(sent.map((command, index) => [command, lines[index]])).toEqual(expected);
  }

  test('reads and changes everything', async () => {
    await expectLines([
      ['inbox', 'awaiting_input: Done; failed: It broke; question: Which?; plan: In short'],
      ['inbox', 'unchanged'],
      ['inbox task_failed plan_requested', 'failed: It broke; plan: In short'],
      ['page 2 1', 'failed: It broke; question: Which?'],
      ['dismiss task_failed', 'dismissed'],
      ['preferences', 'plan_requested question_requested task_failed task_response_ready'],
      ['mail task_failed', '4 stored'],
      ['preferences', 'task_failed'],
      ['editor', 'none'],
      ['connect access refresh', 'subscription'],
      ['workspaces', `${ids.running} running on 2; ${ids.failed} error: No machine is free.`],
      ['workspaces', 'unchanged'],
    ]);
    await asPlatform(
      gateway,
      'mutation ($input: ReportEditorAuthFailureInput!) { reportEditorAuthFailure(input: $input) { __typename } }',
      { input: { userId: user, version: await credentialVersion(gateway, user), reason: 'TOKEN_EXPIRED' } },
    );
    await expectLines([
      ['editor', 'subscription, token_expired'],
      ['disconnect', 'disconnected'],
      ['editor', 'none'],
    ]);
  });

  test('parses a 400, a 404 and a 422', async () => {
    const tokenRule = 'must be 1 to 16384 printable ASCII characters without spaces';
    await expectLines([
      ['page 0 0', 'bad_request: query.limit must be a whole number from 1 to 2147483647'],
      ['dismiss nobody', 'not_found: Not found.'],
      [
        `dismiss ${'x'.repeat(256)}`,
        'validation_failed: path.id must be 1 to 255 characters without control characters',
      ],
      ['connect é refresh', `validation_failed: body.accessToken ${tokenRule}`],
      [
        `mail ${'task_failed '.repeat(100)}`,
        'validation_failed: body.preferences must have at most 100 items',
      ],
    ]);
  });

  test('parses a 401 of every path', async () => {
    expect(await client(gateway.address, 'no-token', commands)).toEqual(
      commands.map(() => 'unauthenticated: sign in'),
    );
  });

  test('parses a 403 of every path', async () => {
    const narrow = await signToken({ sub: user, org_id: 'acme', scope: '' });
    expect(await client(gateway.address, narrow, commands)).toEqual(
      commands.map(() => 'forbidden: get a wider token'),
    );
    const single = await signToken({ sub: user });
    const membersOnly = ['preferences', 'editor', 'mail task_failed', 'connect access refresh', 'disconnect'];
    expect(await client(gateway.address, single, membersOnly)).toEqual(
      membersOnly.map(() => 'org_membership_required: join an organization'),
    );
  });

  test('parses a 429 of every path', async () => {
    const token = await member(`${user}, hurried`);
    const lines = await client(limited.address, token, [...commands, ...commands]);
    expect(lines.slice(commands.length)).toEqual(commands.map(() => 'rate_limited: wait'));
  });
});
