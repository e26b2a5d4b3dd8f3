import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { buildDocument, rootFields } from '../support/root-fields.ts';
import { openStream, subscribe } from '../support/sse.ts';
import { signToken } from '../support/tokens.ts';

const gateway = useGateway();

/** The subscriptions with a `userId` argument. */
const fields = ['editorAuthEvents', 'notificationEvents', 'workspaceEvents'];

test('exactly the subscriptions have an optional userId', () => {
  const optional = Object.values(rootFields).filter(({ args }) =>
    args.some(({ name, type }) => name === 'userId' && String(type) === 'ID'),
  );
  expect(optional.map(({ name }) => name).sort()).toEqual(fields);
});

const cases: [given: { userId?: string }, scope: string | null, codes: string[]][] = [
  [{ userId: 'bob' }, null, ['FORBIDDEN']],
  [{ userId: 'bob' }, 'account:read account:write', ['FORBIDDEN']],
  [{ userId: 'bob' }, 'platform:write platform:credentials', ['FORBIDDEN']],
  [{ userId: 'bob' }, 'platform:read', []],
  [{ userId: 'alice' }, null, []],
  [{}, null, []],
  [{}, 'platform:read', ['FORBIDDEN']],
];

test.each(cases)('a subscription with %j and the scope %s: %j', async (given, scope, codes) => {
  const token = await signToken({ sub: 'alice', org_id: 'acme', scope });
  for (const field of fields) {
    const reply = await subscribe(gateway, buildDocument(field, given), given, { token });
    reply.stream?.close();
    expect(reply.errors.map(({ extensions }) => extensions.code)).toEqual(codes);
  }
});

test("subscriptions to another user's records send that user's changes, and end when the user is deleted", async () => {
  const token = await signToken({ sub: 'dashboard', org_id: 'acme', scope: 'platform:read' });
  const streams = await Promise.all(
    [
      'notificationEvents(userId: "carol") { notification { ... on UserNotification { userId id } } }',
      'workspaceEvents(userId: "carol") { workspace { userId id } }',
      'editorAuthEvents(userId: "carol") { editorAuth { userId } }',
    ].map((selection) => openStream(gateway, `subscription { ${selection} }`, {}, { token })),
  );
  const { id } = await publish(gateway, 'carol');
  const [workspace] = await putWorkspaces(gateway, 'carol', [workspaceInput()]);

  const taken = await Promise.all(streams.map((stream) => stream.take()));
  expect(taken.map(({ data }) => data)).toEqual([
    { notificationEvents: { notification: { userId: 'carol', id } } },
    { workspaceEvents: { workspace: { userId: 'carol', id: workspace } } },
    { editorAuthEvents: { editorAuth: { userId: 'carol' } } },
  ]);
  await deleteUser(gateway, 'carol');
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(Array(3).fill('complete'));
});
