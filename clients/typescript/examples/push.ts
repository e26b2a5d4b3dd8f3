import { type Inbox, subscribeToPush } from '@workspace-account/client';

/** Registers this browser for push messages. Call it when the user clicks a button. */
export async function enablePush(inbox: Inbox): Promise<string> {
  const result = await subscribeToPush(inbox, { serviceWorkerUrl: '/push-service-worker.js' });
  return result === 'subscribed' ? 'This browser shows notifications.' : `Push messages: ${result}.`;
}
