import { hash, randomUUID } from 'node:crypto';
import {
  type GraphQLOutputType,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  isUnionType,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { notificationKinds } from '../src/notifications/notification.enums.ts';
import { schema } from '../src/schema.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { dismiss } from './support/inbox.ts';
import { asMember, publish, putWorkspaces, resolve, workspaceInput } from './support/records.ts';
import { recordStatementsWith } from './support/statements.ts';

/* A list reads only the selected properties from the database. The result must not depend on that. */

const result = {
  taskStatus: 'ERRORED',
  message: 'It broke',
  messageLabel: 'Test run',
  messageTimestamp: '2026-01-05T08:00:00Z',
};
const option = { label: 'A', description: 'The first', preview: 'AAA' };
const question = { question: 'Which?', options: [option], header: 'Choice', id: 'which', multiSelect: true };
const payloads = {
  plan_requested: { planRequested: { toolId: 'tool', input: { summary: 'In short', plan: '1. Do it' } } },
  question_requested: { questionRequested: { toolId: 'tool', input: { questions: [question] } } },
  task_failed: { taskFailed: result },
  task_response_ready: { taskResponseReady: { ...result, taskStatus: 'AWAITING_INPUT' } },
};

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  for (const kind of notificationKinds) {
    const { id } = await publish(gateway, 'alice', kind, {
      task: { id: kind, projectId: 'project', name: 'Task', workspaceId: randomUUID() },
      payload: payloads[kind],
      projectName: 'Project',
      projectRepoUrl: 'https://git.example.com/repo',
      previewText: 'Preview',
      prUrl: 'https://git.example.com/pulls/1',
    });
    await resolve(gateway, 'alice', kind);
    await dismiss(gateway, 'alice', [id]);
  }
  const hardware = { cpuKind: 'shared', cpus: 2, memoryMb: 4096, volumeSizeGb: 20, gpuKind: 'l4' };
  const whole = {
    hardware,
    machineId: 'machine',
    privateIp: '10.0.0.1',
    gitRef: 'refs/heads/main',
    previewToken: 'preview',
    errorMessage: 'It broke',
  };
  await putWorkspaces(gateway, 'alice', [
    workspaceInput({ ...whole, status: 'ERROR' }),
    workspaceInput({ ...whole, errorMessage: undefined }),
  ]);
});
afterAll(() => gateway.close());

/** Returns one selection for each leaf of a type: `title`, `task { id }`, `... on UserNotification { title }`. */
function selectLeaves(output: GraphQLOutputType): string[] {
  const type = getNamedType(output);
  if (isUnionType(type)) {
    const members = new Set(type.getTypes().flatMap((member) => [member, ...member.getInterfaces()]));
    return [...members].flatMap((member) =>
      selectLeaves(member).map((leaf) => `... on ${member.name} { ${leaf} }`),
    );
  }
  const fields = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
  return fields.flatMap(({ name, type }) =>
    isLeafType(getNamedType(type)) ? [name] : selectLeaves(type).map((leaf) => `${name} { ${leaf} }`),
  );
}

const connections = [
  { list: 'notifications', connection: 'NotificationConnection' },
  { list: 'workspaces', connection: 'WorkspaceConnection' },
].map(({ list, connection }) => {
  const type = schema.getType(connection);
  if (!isObjectType(type)) throw new Error(`There is no ${connection}.`);
  return { list, connection, leaves: selectLeaves(type) };
});

const ask = (list: string, selection: string) =>
  asMember(gateway, 'alice', `{ ${list}(first: 10) { ${selection} } }`);

/** Returns the result of selecting all fields, for which all properties are read. */
async function all(list: string, leaves: readonly string[]) {
  const { [list]: whole } = await ask(list, leaves.join(' '));
  return whole;
}

describe.each(connections)('$list', ({ list, connection, leaves }) => {
  test('returns the same value for a field selected alone and together with all others', async () => {
    const whole = await all(list, leaves);
    expect(leaves.length).toBeGreaterThan(35);
    expect(whole.nodes.length).toBeGreaterThan(1);
    for (const leaf of leaves) {
      const { [list]: part } = await ask(list, leaf);
      // Every field has a value in at least one record.
      expect(JSON.stringify(part), leaf).toMatch(/:(?!null|[[{])/);
      expect(whole, leaf).toMatchObject(part);
    }
  });

  test('returns the same value for a field in nested fragments and selected directly', async () => {
    const whole = await all(list, leaves);
    for (const leaf of leaves) {
      const { [list]: part } = await asMember(
        gateway,
        'alice',
        `{ ${list}(first: 10) { ...Outer } }
        fragment Inner on ${connection} { ${leaf} }
        fragment Outer on ${connection} { ...Inner pageInfo { hasNextPage } }`,
      );
      expect(whole, leaf).toMatchObject(part);
    }
  });

  test('reads only the selected properties, even after more distinct selections than the statement limit', async () => {
    const nodes = leaves.filter((leaf) => leaf.startsWith('nodes'));
    const whole = await all(list, nodes);
    const statements = await recordStatementsWith('alice', async () => {
      for (let choice = 1; choice <= 220; choice += 1) {
        const isChosen = (index: number) => /^[0-3]/.test(hash('md5', `${choice} ${index}`));
        const some = nodes.filter((_leaf, index) => isChosen(index) || index === choice % nodes.length);
        const { [list]: part } = await ask(list, some.join(' '));
        expect(whole).toMatchObject(part);
      }
    });
    expect(new Set(statements.map(({ text }) => text)).size).toBeGreaterThan(200);

    const [{ text } = { text: '' }] = await recordStatementsWith('alice', () =>
      ask(list, 'nodes { __typename }'),
    );
    expect(text).toMatch(/^select "id" as "id"(, "kind" as "kind")? from/);
  });
});
