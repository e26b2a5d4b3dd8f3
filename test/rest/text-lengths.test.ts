import { getNamedType, isInputObjectType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/schema.ts';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { notification, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const service = gateway.as(platform);

const publishWith = (given: object) => service.publish(notification('alice', 'plan_requested', given));
const task = (given: object) => publishWith({ task: { id: 'task-1', projectId: 'project-1', ...given } });
const result = (given: object) =>
  publishWith({ payload: { taskFailed: { taskStatus: 'ERRORED', ...given } } });
const put = (given: object) =>
  service.putWorkspaces({ userId: 'alice', workspaces: [workspaceInput({ status: 'ERROR', ...given })] });
const hardware = (given: object) => put({ hardware: { ...workspaceInput().hardware, ...given } });

/** Expects that an input is refused at a location, for a reason. */
const expectRefusal = (sent: Promise<unknown>, location: string, message: string) =>
  expect(sent).rejects.toMatchObject(refused('VALIDATION_FAILED', [location, message]));

const workspace = 'input.workspaces[0]';

test.each<[location: string, max: number, send: (text: string) => Promise<unknown>]>([
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
])('%s has at most %i characters, of any plane', async (location, max, send) => {
  for (const character of ['x', '\u{1F600}']) {
    await send(character.repeat(max));
    await expectRefusal(send(character.repeat(max + 1)), location, `must have at most ${max} characters`);
  }
});

test.each([
  ...['\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029'],
  ...['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069'],
])('a title rejects %j', async (character) => {
  const message = 'must not contain line breaks or characters that reorder text';
  await expectRefusal(publishWith({ title: `One${character}Two` }), 'input.title', message);
});

describe.each(['prUrl', 'projectRepoUrl'])('%s', (field) => {
  test.each([
    'https://git.example/acme/shop/pulls/1?tab=files#top',
    'http://localhost:3000/',
    'https://git.example/@acme/shop:8080?user=a@example.com',
    'HTTPS://GIT.EXAMPLE/',
    `https://git.example/${'x'.repeat(2048 - 20)}`,
  ])('accepts %.40s', async (url) => {
    await publishWith({ [field]: url });
  });

  test.each([
    'javascript:alert(1)',
    'java\nscript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
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
    const message = 'must be an http or https URL without a user name';
    await expectRefusal(publishWith({ [field]: url }), `input.${field}`, message);
  });

  test('rejects more than 2048 characters', async () => {
    const url = `https://git.example/${'x'.repeat(2048)}`;
    await expectRefusal(publishWith({ [field]: url }), `input.${field}`, 'must have at most 2048 characters');
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
