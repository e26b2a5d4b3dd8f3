import { hash, randomUUID } from 'node:crypto';
import {
  type GraphQLOutputType,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  isUnionType,
} from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import { schema } from '../../src/schema.ts';
import { useGateway } from '../support/gateway.ts';
import {
  payloads as minimalPayloads,
  publish,
  putWorkspaces,
  resolve,
  workspaceInput,
} from '../support/records.ts';
import { acknowledge, answer } from '../support/requests.ts';
import { recordStatementsWith } from '../support/statements.ts';

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
  ...minimalPayloads,
  question_requested: { questionRequested: { toolId: 'tool', input: { questions: [question] } } },
  task_failed: { taskFailed: result },
  task_response_ready: { taskResponseReady: { ...result, taskStatus: 'AWAITING_INPUT' } },
};

const answers = [
  ['plan_requested', { plan: { decision: 'REQUEST_CHANGES', feedback: 'Smaller' } }],
  ['question_requested', { questions: [{ index: 0, options: [0], other: 'Both' }] }],
  ['task_response_ready', { reply: { text: 'Yes' } }],
] as const;

const gateway = useGateway();
const alice = gateway.as('alice');
beforeAll(async () => {
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
    await alice.dismiss({ id });
  }
  for (const [kind, given] of answers) {
    const request = { payload: payloads[kind], expiresInSeconds: 600, onExpiry: given };
    const { id } = await publish(gateway, 'alice', kind, request);
    await answer(gateway, 'alice', { id, ...given });
    await acknowledge(gateway, 'alice', id, 'ACCEPTED', 'Thanks');
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

/** Fields that lead to other records, which are read by statements of their own. */
const OTHER_RECORDS = ['workspace', 'deliveries'];

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
  const own = fields.filter(({ name }) => !OTHER_RECORDS.includes(name));
  return own.flatMap(({ name, type }) =>
    isLeafType(getNamedType(type)) ? [name] : selectLeaves(type).map((leaf) => `${name} { ${leaf} }`),
  );
}

const connections = ['notifications', 'workspaces'].map((list) => {
  const type = schema.getQueryType()?.getFields()[list]?.type ?? expect.unreachable(list);
  return { list, connection: getNamedType(type).name, leaves: selectLeaves(type) };
});

/** Joins selections, and writes each of their parents once: `task { id }` and `task { name }` as `task { id name }`. */
function join(selections: readonly string[]): string {
  const children = new Map<string, string[]>();
  for (const selection of selections) {
    const [, parent = selection, child] = /^(.+?) \{ (.+) \}$/.exec(selection) ?? [];
    children.set(parent, [...(children.get(parent) ?? []), ...(child === undefined ? [] : [child])]);
  }
  const written = Array.from(children, ([parent, own]) =>
    own.length === 0 ? parent : `${parent} { ${join(own)} }`,
  );
  return written.join(' ');
}

/**
 * Whether a selection reads what may always be null: the parts of answers by kind of notification, of which each kind has
 * one, and the author of defaults.
 */
const mayBeNull = (selection: string) =>
  /on (Plan|Question|Task)\w+ \{ request|onExpiry \{ (answerId|by)/.test(selection);

/** The number of lists in one document: within the limits, but fewer documents to validate. */
const LISTS_PER_DOCUMENT = 8;

/** Returns the result of each selection of a list; `fragments` are those that a selection uses. */
async function ask(list: string, selections: readonly string[], fragments: readonly string[] = []) {
  const results: object[] = [];
  for (let first = 0; first < selections.length; first += LISTS_PER_DOCUMENT) {
    const part = <Item>(items: readonly Item[]) => items.slice(first, first + LISTS_PER_DOCUMENT);
    const lists = part(selections).map((fields, index) => `list${index}: ${list}(first: 10) { ${fields} }`);
    const document = `{ ${lists.join(' ')} } ${part(fragments).join(' ')}`;
    results.push(...Object.values<object>(await alice.run(document)));
  }
  return results;
}

/** Returns the result of selecting all fields, for which all properties are read. */
const all = async (list: string, leaves: readonly string[]) =>
  (await alice.run(`{ ${list}(first: 10) { ${join(leaves)} } }`))[list];

describe.each(connections)('$list', ({ list, connection, leaves }) => {
  test('returns the same value for a field selected alone, in nested fragments and together with all others', async () => {
    const whole = await all(list, leaves);
    expect(leaves.length).toBeGreaterThan(35);
    expect(whole.nodes.length).toBeGreaterThan(1);
    const fragments = leaves.map(
      (leaf, index) => `fragment Inner${index} on ${connection} { ${leaf} }
        fragment Outer${index} on ${connection} { ...Inner${index} pageInfo { hasNextPage } }`,
    );
    const spreads = leaves.map((_leaf, index) => `...Outer${index}`);
    for (const [index, part] of (await ask(list, spreads, fragments)).entries())
      expect(whole, `${leaves[index]} in fragments`).toMatchObject(part);
    const parts = await ask(list, leaves);
    expect(parts).toHaveLength(leaves.length);
    for (const [index, part] of parts.entries()) {
      // Every field has a value in at least one record.
      if (!mayBeNull(leaves[index] ?? ''))
        expect(
          /:\[?(?!null|[[{\]])/.test(JSON.stringify(part)),
          `${leaves[index]} is empty in every record: give it a value in a record above, and check that it is stored`,
        ).toBe(true);
      expect(whole, leaves[index]).toMatchObject(part);
    }
  });

  test('reads only the selected properties, even after more distinct selections than the statement limit', async () => {
    const nodes = leaves.filter((leaf) => leaf.startsWith('nodes'));
    const whole = await all(list, nodes);
    const selections = Array.from({ length: 300 }, (_none, choice) => {
      const isChosen = (index: number) => /^[0-3]/.test(hash('md5', `${choice} ${index}`));
      const some = nodes.filter((_leaf, index) => isChosen(index) || index === choice % nodes.length);
      return join(some);
    });
    const statements = await recordStatementsWith('alice', async () => {
      for (const part of await ask(list, selections)) expect(whole).toMatchObject(part);
    });
    expect(new Set(statements.map(({ text }) => text)).size).toBeGreaterThan(200);

    const [{ text } = { text: '' }] = await recordStatementsWith('alice', () =>
      ask(list, ['nodes { __typename }']),
    );
    expect(text).toMatch(
      /^select "owner" as "owner", "id" as "id"(, "kind" as "kind", "request_state" as "requestState")?, "created_at" as "createdAt" from/,
    );
  });
});
