import { parentPort, workerData } from 'node:worker_threads';
import { createInbox } from '../../clients/typescript/src/index.ts';

/** A tab in a thread of its own: shows its list, and can hang until it is woken. */
const { url, token, frozen } = workerData;
const inbox = createInbox({ url, getToken: () => token });
const list = inbox.notifications();
list.subscribe(() => undefined);
const isLive = inbox.connection.subscribe(() => {
  if (inbox.connection.get().state !== 'live') return;
  isLive();
  parentPort?.postMessage('live');
});
parentPort?.on('message', (message) => {
  if (message === 'freeze') Atomics.wait(frozen, 0, 0);
  else parentPort?.postMessage(list.get().data?.notifications.map(({ id }) => id));
});
