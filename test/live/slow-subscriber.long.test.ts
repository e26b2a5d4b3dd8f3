import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { dismiss, readRevision } from '../support/inbox.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

/** Together far more than socket buffers hold. */
const NOTIFICATIONS = 200;
const MESSAGE = '\u{1F600}'.repeat(16_000);

const gateway = useGateway();

/** Subscribes without reading the reply. */
async function subscribeUnread(user: string): Promise<IncomingMessage> {
  const query = `subscription { notificationEvents { cursor notification {
    ... on UserNotification { id status } ... on TaskFailedNotification { payload { message } }
  } } }`;
  const sent = request(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
      Authorization: `Bearer ${await member(user)}`,
    },
  });
  sent.end(JSON.stringify({ query }));
  const [response] = await once(sent, 'response');
  return response;
}

test('buffers nothing for a client that does not read, which receives the current states when it reads', async () => {
  const response = await subscribeUnread('slow');
  const ids = Array.from({ length: NOTIFICATIONS }, (_none, number) => `n-${number}`);
  for (const id of ids) {
    await publish(gateway, 'slow', 'task_failed', {
      id,
      payload: { taskFailed: { taskStatus: 'ERRORED', message: MESSAGE } },
    });
  }
  for (const some of [ids.slice(0, 100), ids.slice(100)]) await dismiss(gateway, 'slow', some);

  const latest = new Map<string, string>();
  const revisions: number[] = [];
  let rest = '';
  for await (const text of response.setEncoding('utf8')) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((line) => line.startsWith('data: '))) {
      const { notification, cursor } = JSON.parse(line.slice(6)).data.notificationEvents;
      latest.set(notification.id, notification.status);
      revisions.push(readRevision(cursor));
    }
    if (revisions.at(-1) === 2 * NOTIFICATIONS) break;
  }

  expect([...latest.entries()].sort()).toEqual(ids.map((id) => [id, 'DISMISSED']).sort());
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  expect(revisions.length).toBeLessThan(2 * NOTIFICATIONS);
});
