import { getNamedType, isInputObjectType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { schema } from '../../src/schema.ts';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { payloads, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await platform();
});

const documents = {
  publishNotification: `mutation ($input: PublishNotificationInput!) {
    publishNotification(input: $input) { created }
  }`,
  putWorkspaces:
    'mutation ($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id } } }',
};

/** Returns the error items of a rejected input; none if it is stored. */
async function findErrors(field: keyof typeof documents, input: object) {
  const { errors } = await graphql(gateway, documents[field], { input }, { token });
  return errors.flatMap(({ extensions }) => {
    expect(extensions.code).toBe('VALIDATION_FAILED');
    return extensions.errors.map(({ location, message }: Record<string, string>) => ({ location, message }));
  });
}

const notification = (more: object) => ({
  userId: 'alice',
  title: 'A title',
  task: { id: 'task-1', projectId: 'project-1' },
  payload: payloads.plan_requested,
  ...more,
});
const publishWith = (more: object) => findErrors('publishNotification', notification(more));
const task = (more: object) => publishWith({ task: { id: 'task-1', projectId: 'project-1', ...more } });
const result = (more: object) => publishWith({ payload: { taskFailed: { taskStatus: 'ERRORED', ...more } } });
const put = (more: object) =>
  findErrors('putWorkspaces', {
    userId: 'alice',
    workspaces: [workspaceInput({ status: 'ERROR', ...more })],
  });
const hardware = (more: object) => put({ hardware: { ...workspaceInput().hardware, ...more } });

const workspace = 'input.workspaces[0]';

describe.each<[location: string, max: number, send: (text: string) => ReturnType<typeof findErrors>]>([
  ['input.title', 500, (title) => publishWith({ title })],
  ['input.previewText', 10_000, (previewText) => publishWith({ previewText })],
  ['input.projectName', 255, (projectName) => publishWith({ projectName })],
  ['input.task.name', 255, (name) => task({ name })],
  ['input.task.workspaceId', 255, (workspaceId) => task({ workspaceId })],
  ['input.payload.taskFailed.messageLabel', 255, (messageLabel) => result({ messageLabel })],
  ['input.payload.taskFailed.messageTimestamp', 255, (messageTimestamp) => result({ messageTimestamp })],
  [`${workspace}.hardware.cpuKind`, 255, (cpuKind) => hardware({ cpuKind })],
  [`${workspace}.hardware.gpuKind`, 255, (gpuKind) => hardware({ gpuKind })],
  [`${workspace}.machineId`, 255, (machineId) => put({ machineId })],
  [`${workspace}.privateIp`, 255, (privateIp) => put({ privateIp })],
  [`${workspace}.gitRef`, 1024, (gitRef) => put({ gitRef })],
  [`${workspace}.errorMessage`, 10_000, (errorMessage) => put({ errorMessage })],
])('%s', (location, max, send) => {
  test.each([
    ['characters', 'x'],
    ['characters outside the Basic Multilingual Plane', '\u{1F600}'],
  ])(`accepts ${max} %s and rejects one more`, async (_what, character) => {
    expect(await send(character.repeat(max))).toEqual([]);
    const message = `must have at most ${max} characters`;
    expect(await send(character.repeat(max + 1))).toEqual([{ location, message }]);
  });
});

test.each([
  ...['\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029'],
  ...['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069'],
])('a title rejects %j', async (character) => {
  expect(await publishWith({ title: `One${character}Two` })).toEqual([
    { location: 'input.title', message: 'must not contain line breaks or characters that reorder text' },
  ]);
});

describe.each(['prUrl', 'projectRepoUrl'])('%s', (field) => {
  const location = `input.${field}`;

  test.each([
    'https://git.example/acme/shop/pulls/1?tab=files#top',
    'http://localhost:3000/',
    'https://git.example/@acme/shop:8080?user=a@example.com',
    'HTTPS://GIT.EXAMPLE/',
    `https://git.example/${'x'.repeat(2048 - 20)}`,
  ])('accepts %.40s', async (url) => {
    expect(await publishWith({ [field]: url })).toEqual([]);
  });

  test.each([
    'javascript:alert(1)',
    'java\nscript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:msgbox(1)',
    'file:///etc/passwd',
    'ftp://git.example/',
    'git@git.example:acme/shop.git',
    '//git.example/',
    'git.example/acme',
    'https:git.example',
    'https://',
    'https://git.example/a b',
    ' https://git.example/',
    'https://git.example:99999/',
    'https://github.com@git.example/',
    'https://github.com:443@git.example/',
    'https://:secret@git.example/',
    '',
  ])('rejects %j', async (url) => {
    expect(await publishWith({ [field]: url })).toEqual([
      { location, message: 'must be an http or https URL without a user name' },
    ]);
  });

  test('rejects more than 2048 characters', async () => {
    expect(await publishWith({ [field]: `https://git.example/${'x'.repeat(2048)}` })).toEqual([
      { location, message: 'must have at most 2048 characters' },
    ]);
  });
});

test('the schema states the maximum length of every stored string', () => {
  const texts = Object.values(schema.getTypeMap())
    .filter(isInputObjectType)
    .flatMap((type) =>
      Object.values(type.getFields()).map((field) => ({ ...field, name: `${type.name}.${field.name}` })),
    )
    .filter(({ type }) => getNamedType(type).name === 'String');
  expect(texts.length).toBeGreaterThan(12);
  // A cursor is not stored, and a message is limited by the size of its payload.
  const others = [
    'DismissNotificationsFilter.upTo',
    'RestoreNotificationsInput.undoToken',
    'TaskResultInput.message',
  ];
  const silent = texts.filter(
    ({ name, description }) =>
      !others.includes(name) && !/At most [\d,]+ characters\.$/.test(description ?? ''),
  );
  expect(silent.map(({ name }) => name)).toEqual([]);
});
