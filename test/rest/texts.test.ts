import { getNamedType, isInputObjectType, isScalarType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/schema.ts';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { notification, workspaceInput } from '../support/records.ts';
import { buildDocument, isSubscription } from '../support/root-fields.ts';
import { platform, signToken } from '../support/tokens.ts';
import { argumentsWith, formatPath, type InputPlace, inputPlaces, nameOf } from './input-places.ts';

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

const urlFields = ['prUrl', 'projectRepoUrl'];

test.each([
  'https://git.example/@acme/shop:8080/pulls/1?user=a@example.com#top',
  'http://localhost:3000/',
  'HTTPS://GIT.EXAMPLE/',
  `https://git.example/${'x'.repeat(2048 - 20)}`,
])('accepts the URL %.40s', async (url) => {
  for (const field of urlFields) await publishWith({ [field]: url });
});

const noUrl = 'must be an http or https URL without a user name';

test.each([
  ...['javascript:alert(1)', 'java\nscript:alert(1)', ' javascript:alert(1)', 'ftp://git.example/'],
  ...['data:text/html,<script>alert(1)</script>', 'git@git.example:acme/shop.git', '//git.example/'],
  ...['git.example/acme', 'https:git.example', 'https://', 'https://git.example/a b', ''],
  ...[' https://git.example/', 'https://git.example:99999/', 'https://github.com@git.example/'],
  ...['https://github.com:443@git.example/', 'https://:secret@git.example/'],
])('rejects the URL %j', async (url) => {
  for (const field of urlFields) await expectRefusal(publishWith({ [field]: url }), `input.${field}`, noUrl);
});

test('rejects URLs of more than 2048 characters', async () => {
  const url = `https://git.example/${'x'.repeat(2048)}`;
  for (const field of urlFields)
    await expectRefusal(publishWith({ [field]: url }), `input.${field}`, 'must have at most 2048 characters');
});

test('the schema states the maximum length of every stored string', () => {
  const texts = Object.values(schema.getTypeMap())
    .filter(isInputObjectType)
    .flatMap((type) =>
      Object.values(type.getFields()).map((field) => ({ ...field, name: `${type.name}.${field.name}` })),
    )
    .filter(({ type }) => getNamedType(type).name === 'String');
  // A cursor is not stored, and a message is limited by the size of its payload.
  const silent = texts.filter(({ description }) => !/At most [\d,]+ characters\.$/.test(description ?? ''));
  expect(silent.map(({ name }) => name)).toEqual([
    'DismissNotificationsFilter.upTo',
    'RestoreNotificationsInput.undoToken',
    'TaskResultInput.message',
  ]);
});

/** The scalars that accept stored text. Every other scalar has its own rule. */
const textual = ['ID', 'String', 'Secret', 'JSON', 'EmailAddress', 'URL'];
const others = ['Boolean', 'DateTime', 'Float', 'Int'];

const scalars = inputPlaces.filter(({ type }) => isScalarType(schema.getType(type)));
const places = scalars.filter(({ type }) => textual.includes(type));

const scope = 'account:write platform:write platform:read platform:credentials';
const alice = gateway.as(() => signToken({ sub: 'alice', org_id: 'acme', scope }));

/** Sends a value at a place, and returns the error items. */
async function sendAt(place: InputPlace, value: unknown) {
  const given = argumentsWith(place, value);
  const headers = isSubscription(place.field) ? { Accept: 'text/event-stream, application/json' } : {};
  const { errors } = await alice.graphql(buildDocument(place.field, given), given, { headers });
  return errors.flatMap(({ extensions }) => extensions.errors ?? [{ location: extensions.code }]);
}

test("every scalar of the schema's inputs accepts text or has a rule of its own", () => {
  expect([...new Set(scalars.map(({ type }) => type))].sort()).toEqual([...others, ...textual].sort());
});

test.each(places.map(nameOf))('%s rejects U+0000 and a lone surrogate', async (_name, place) => {
  for (const text of ['a\0b', 'a\ud800b'])
    expect(await sendAt(place, text)).toMatchObject([{ location: formatPath(place.path) }]);
});

/** JSON that is valid for every argument of the type JSON, with additional members. */
const withMembers = (more: object) => ({ summary: '', plan: '', questions: [], ...more });

describe.each(places.filter(({ type }) => type === 'JSON').map(nameOf))('%s rejects', (_name, place) => {
  const at = formatPath(place.path);

  test.each<[what: string, value: unknown, ...locations: string[]]>([
    [
      'nested invalid characters',
      withMembers({ a: [{ b: 'x\0' }], c: { d: '\udfff' }, e: { '\0': 1 }, f: { '\ud800': 1 } }),
      ...['.a[0].b', '.c.d', '.e', '.f'],
    ],
    ['a key __proto__', withMembers(JSON.parse('{"deep":{"__proto__":{"polluted":true}}}')), '.deep'],
    [
      '65 nested levels',
      withMembers(JSON.parse(`{"deep":${'['.repeat(64)}${']'.repeat(64)}}`)),
      `.deep${'[0]'.repeat(63)}`,
    ],
  ])('%s', async (_what, value, ...locations) => {
    const items = await sendAt(place, value);
    expect(items).toMatchObject(locations.map((location) => ({ location: `${at}${location}` })));
    expect({}).not.toHaveProperty('polluted');
  });

  test('a number beyond the range of a double', async () => {
    const variables = argumentsWith(place, withMembers({ number: 'HUGE' }));
    const body = JSON.stringify({ query: buildDocument(place.field, variables), variables });
    const reply = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${await platform()}` },
      body: body.replace('"HUGE"', '1e400'),
    });
    const errors = [{ message: 'must be a finite number' }];
    expect(await reply.json()).toMatchObject({ errors: [{ extensions: { errors } }] });
  });
});

test('rejects a __proto__ key in a literal like one in a variable', async () => {
  const input = `{
    userId: "alice", title: "", task: { id: "t", projectId: "p" },
    payload: { planRequested: { toolId: "t", input: { summary: "", plan: "", __proto__: { polluted: true } } } }
  }`;
  const { errors } = await alice.graphql(`mutation { publishNotification(input: ${input}) { __typename } }`);

  expect(errors[0].extensions.errors).toMatchObject([{ message: 'must not have a key "__proto__"' }]);
});
