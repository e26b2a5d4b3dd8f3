import { expect, test } from 'vitest';
import { recordAnnouncements } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import {
  currentCursor,
  dismiss,
  nextEvent,
  readRevision,
  subscribeToNotifications,
} from '../support/inbox.ts';
import { notification, publish, resolve } from '../support/records.ts';
import { recordStatementsWith } from '../support/statements.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();

const task = { id: 'task', projectId: 'project' };

test('an event contains its type, the notification, the counts of active notifications and a cursor', async () => {
  const fragment =
    '... on PlanRequestedNotification { id status title task { id projectId } payload { toolId } }';
  const fields = `type cursor counts { total byKind { kind count } } notification { ${fragment} }`;
  const stream = await gateway.as('whole').follow(`subscription { notificationEvents { ${fields} } }`);
  await publish(gateway, 'whole', 'plan_requested', { id: 'n', task });

  expect(await nextEvent(stream)).toEqual({
    type: 'CREATED',
    cursor: expect.any(String),
    counts: {
      total: 1,
      byKind: [
        { kind: 'PLAN_REQUESTED', count: 1 },
        { kind: 'QUESTION_REQUESTED', count: 0 },
        { kind: 'TASK_FAILED', count: 0 },
        { kind: 'TASK_RESPONSE_READY', count: 0 },
      ],
    },
    notification: { id: 'n', status: 'ACTIVE', title: 'A title', task, payload: { toolId: 'tool-1' } },
  });
  stream.close();
});

test('publishing, superseding, resolving and dismissing send events in the order of their revisions', async () => {
  const user = 'steps';
  const stream = await subscribeToNotifications(gateway, user);
  const next = async () => {
    const { type, notification: changed, counts, cursor } = await nextEvent(stream);
    return [type, changed.id, counts.total, readRevision(cursor)];
  };

  await publish(gateway, user, 'plan_requested', { id: 'a', task });
  expect(await next()).toEqual(['CREATED', 'a', 1, 1]);
  await publish(gateway, user, 'plan_requested', { id: 'b', task });
  expect([await next(), await next()]).toEqual([
    ['RESOLVED', 'a', 1, 2],
    ['CREATED', 'b', 1, 3],
  ]);
  await resolve(gateway, user, task.id);
  expect(await next()).toEqual(['RESOLVED', 'b', 0, 4]);
  await gateway.as(user).dismiss({ id: 'a' });
  expect(await next()).toEqual(['DISMISSED', 'a', 0, 5]);
  await dismiss(gateway, user, ['b']);
  expect(await next()).toEqual(['DISMISSED', 'b', 0, 6]);
  stream.close();
});

test('without `after` a subscription sends only later changes, and none of other users', async () => {
  await publish(gateway, 'mine', 'task_failed', { id: 'before' });
  const stream = await subscribeToNotifications(gateway, 'mine');
  await publish(gateway, 'theirs', 'task_failed', { id: 'theirs' });
  await publish(gateway, 'mine', 'task_failed', { id: 'later' });

  expect((await nextEvent(stream)).notification.id).toBe('later');
  stream.close();
});

test('with `after` each notification changed since is sent once in its current state, followed by later changes', async () => {
  const user = 'since';
  await publish(gateway, user, 'task_failed', { id: 'untouched' });
  const after = await currentCursor(gateway, user);
  for (const id of ['a', 'b', 'c']) await publish(gateway, user, 'task_failed', { id });
  await dismiss(gateway, user, ['a']);

  const stream = await subscribeToNotifications(gateway, user, after);
  const seen = [await nextEvent(stream), await nextEvent(stream), await nextEvent(stream)];
  await publish(gateway, user, 'task_failed', { id: 'live' });
  seen.push(await nextEvent(stream));

  expect(seen.map((event) => `${event.notification.id} ${event.type}`)).toEqual([
    'b CREATED',
    'c CREATED',
    'a DISMISSED',
    'live CREATED',
  ]);
  stream.close();
});

test('sends all changes once, even if they are read in several batches', async () => {
  const user = 'many';
  await publish(gateway, user);
  const after = await currentCursor(gateway, user);
  for (let batch = 0; batch < 3; batch += 1) {
    const notifications = Array.from({ length: 100 }, () => notification(user, 'task_failed'));
    await gateway.as(platform).publishAll({ notifications });
  }

  const stream = await subscribeToNotifications(gateway, user, after);
  const revisions: number[] = [];
  while (revisions.length < 300) revisions.push(readRevision((await nextEvent(stream)).cursor));

  expect(revisions).toEqual(Array.from({ length: 300 }, (_none, index) => index + 2));
  stream.close();
});

test('announces a change to other gateways after its commit, and announces nothing if nothing changed', async () => {
  const user = 'rolled';
  const announced = await recordAnnouncements(gateway.database);
  await publish(gateway, user, 'task_failed', { id: 'n', task, title: 'One' });
  await publish(gateway, user, 'task_failed', { id: 'n', task, title: 'One' });
  await expect(publish(gateway, user, 'task_failed', { id: 'n', task, title: 'Another' })).rejects.toThrow();
  await dismiss(gateway, user, ['n']);
  await dismiss(gateway, user, ['n']);

  const ofUser = () => announced.changes().filter(([owner]) => owner === user);
  await eventually(() => expect(ofUser().at(-1)).toEqual([user, 'notifications', 2]));
  // Changes within a few milliseconds are announced together, with the last revision.
  const revisions = ofUser().map(([, , revision]) => revision);
  expect([[1, 2], [2]]).toContainEqual(revisions);
  await announced.close();
});

test('a publication and its event take five statements besides the announcement', async () => {
  const stream = await subscribeToNotifications(gateway, 'counted');
  await publish(gateway, 'counted', 'task_failed', { id: 'first' });
  await nextEvent(stream);

  const statements = await recordStatementsWith('counted', async () => {
    await publish(gateway, 'counted', 'task_failed', { id: 'second', task });
    expect((await nextEvent(stream)).notification.id).toBe('second');
  });

  // Three reads and the store of the publication, and the read of the stream.
  expect(statements.map(({ text }) => text.split(' ', 1)[0])).toEqual([
    ...Array(3).fill('select'),
    'with',
    'select',
  ]);
  stream.close();
});

test('rejects an invalid cursor', async () => {
  const query = 'subscription { notificationEvents(after: "x") { cursor } }';
  const { errors } = await gateway.as('bad').subscribe(query);

  expect(errors[0].extensions).toEqual({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'after', message: 'must be an event cursor', value: 'x' }],
  });
});
