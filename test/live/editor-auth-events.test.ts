import { expect, test } from 'vitest';
import { recordAnnouncements } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { credentialVersion } from '../support/records.ts';
import type { SseStream } from '../support/sse.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const subscribe = (user: string) =>
  as(user).follow(
    'subscription { editorAuthEvents { editorAuth { auth { type } needsReauth reauthReason } } }',
  );
const store = (user: string) =>
  as(user).connectEditor({ accessToken: 'access-secret', refreshToken: 'refresh-secret' });
const remove = (user: string) => as(user).disconnectEditor();
const fail = async (userId: string) => {
  const version = await credentialVersion(gateway, userId);
  await as(platform).reportEditorFailure({ userId, version, reason: 'TOKEN_REVOKED' });
};

async function readState(stream: SseStream) {
  const { data, errors } = await stream.take();
  expect(errors).toEqual([]);
  const { auth, needsReauth, reauthReason } = data.editorAuthEvents.editorAuth;
  return [auth.type, needsReauth, reauthReason];
}

test('sends the current state first, then each change: stored, failed, refreshed, deleted', async () => {
  const stream = await subscribe('flow');
  expect(await readState(stream)).toEqual(['NONE', false, null]);
  await store('flow');
  expect(await readState(stream)).toEqual(['SUBSCRIPTION', false, null]);
  await fail('flow');
  expect(await readState(stream)).toEqual(['SUBSCRIPTION', true, 'TOKEN_REVOKED']);
  const version = await credentialVersion(gateway, 'flow');
  await as(platform).refreshCredential({ userId: 'flow', version, accessToken: 'a', refreshToken: 'r' });
  expect(await readState(stream)).toEqual(['SUBSCRIPTION', false, null]);
  await remove('flow');
  expect(await readState(stream)).toEqual(['NONE', false, null]);
  stream.close();
});

test('sends no event if the state does not change', async () => {
  await store('same');
  const stream = await subscribe('same');
  expect(await readState(stream)).toEqual(['SUBSCRIPTION', false, null]);
  await store('same');
  await fail('same');
  await remove('same');
  await remove('same');
  await store('same');
  await fail('same');

  let last = await readState(stream);
  while (last[1] !== true) last = await readState(stream);

  // Intermediate states may be skipped, but no state may be sent twice in a row.
  const states = stream.results.map(({ data }) => JSON.stringify(data));
  expect(states.filter((state, index) => state === states[index - 1])).toEqual([]);
  stream.close();
});

test('neither announcements nor events contain tokens', async () => {
  const announced = await recordAnnouncements(gateway.database);
  const stream = await subscribe('secret');
  await readState(stream);
  await store('secret');
  await readState(stream);

  const ofUsers = () => announced.changes().filter(([user]) => user === 'secret');
  await eventually(() => expect(ofUsers()).toEqual([['secret', 'editorAuth', 1]]));
  expect(JSON.stringify(stream.results)).not.toMatch(/secret/);
  await announced.close();
  stream.close();
});
