import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordAnnouncements } from './support/announcements.ts';
import { rest } from './support/client.ts';
import { eventually } from './support/eventually.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { asPlatform, credentialVersion } from './support/records.ts';
import { openStream, type SseStream } from './support/sse.ts';
import { member } from './support/tokens.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const pair = { accessToken: 'access-secret', refreshToken: 'refresh-secret' };
const watch = async (user: string, at = gateway) =>
  openStream(
    at,
    'subscription { editorAuthEvents { editorAuth { auth { type } needsReauth reauthReason } } }',
    {},
    {
      token: await member(user),
    },
  );
const store = async (user: string) =>
  rest(gateway, 'PUT', '/editor/auth/subscription', { token: await member(user), body: pair });
const wipe = async (user: string) => rest(gateway, 'DELETE', '/editor/auth', { token: await member(user) });
const fail = async (userId: string) =>
  asPlatform(
    gateway,
    `mutation ($input: ReportEditorAuthFailureInput!) { reportEditorAuthFailure(input: $input) { applied } }`,
    { input: { userId, version: await credentialVersion(gateway, userId), reason: 'TOKEN_REVOKED' } },
  );

async function next(stream: SseStream) {
  const { data, errors } = await stream.take();
  expect(errors).toEqual([]);
  const { auth, needsReauth, reauthReason } = data.editorAuthEvents.editorAuth;
  return [auth.type, needsReauth, reauthReason];
}

test('first the present state, then each change: stored, failed, refreshed, deleted', async () => {
  const stream = await watch('flow');
  expect(await next(stream)).toEqual(['NONE', false, null]);
  await store('flow');
  expect(await next(stream)).toEqual(['SUBSCRIPTION', false, null]);
  await fail('flow');
  expect(await next(stream)).toEqual(['SUBSCRIPTION', true, 'TOKEN_REVOKED']);
  await asPlatform(
    gateway,
    `mutation ($version: ID!) { refreshEditorCredential(input: {
      userId: "flow", version: $version, accessToken: "a", refreshToken: "r"
    }) { version } }`,
    { version: await credentialVersion(gateway, 'flow') },
  );
  expect(await next(stream)).toEqual(['SUBSCRIPTION', false, null]);
  await wipe('flow');
  expect(await next(stream)).toEqual(['NONE', false, null]);
  stream.close();
});

test('what leaves the state as it is is no event', async () => {
  await store('same');
  const stream = await watch('same');
  expect(await next(stream)).toEqual(['SUBSCRIPTION', false, null]);
  await store('same');
  await fail('same');
  await wipe('same');
  await wipe('same');
  await store('same');
  await fail('same');

  let last = await next(stream);
  while (last[1] !== true) last = await next(stream);

  // Steps between may be left out, but nothing is told twice in a row.
  const told = stream.results.map(({ data }) => JSON.stringify(data));
  expect(told.filter((state, index) => state === told[index - 1])).toEqual([]);
  stream.close();
});

test('a credential whose key is not configured shows as unreadable', async () => {
  await store('unreadable');
  const keys = `other:${randomBytes(32).toString('base64')}`;
  const other = await startTestGateway({ ENCRYPTION_KEYS: keys }, gateway.database);
  const stream = await watch('unreadable', other);

  expect(await next(stream)).toEqual(['SUBSCRIPTION', true, 'CREDENTIAL_UNREADABLE']);
  await other.close();
});

test('neither an announcement nor an event holds anything of the pair', async () => {
  const announced = await recordAnnouncements(gateway.database);
  const stream = await watch('secret');
  await next(stream);
  await store('secret');
  await next(stream);

  await eventually(() => expect(announced.changes()).toEqual([['secret', 'editorAuth', 1]]));
  expect(JSON.stringify(stream.results)).not.toMatch(/secret/);
  await announced.close();
  stream.close();
});
