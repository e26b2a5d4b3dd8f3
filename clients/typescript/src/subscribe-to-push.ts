import { PushPublicKey, RegisterPush } from './generated/documents.ts';
import type { TypedDocument } from './typed-document.ts';

/** Executes operations, like an inbox. */
type Requester = {
  request<Data, Variables>(document: TypedDocument<Data, Variables>, variables: Variables): Promise<Data>;
};

/**
 * Registers this browser for push messages, and asks for the permission to show notifications. Browsers allow the question
 * only in reaction to a click; once it is given, call this at every start of the app to keep the subscription current.
 *
 * @param options.serviceWorkerUrl where the app serves `push-service-worker.js`; `/push-service-worker.js` by default
 * @returns `denied` without the permission, `notConfigured` if the gateway sends no push messages, and `unsupported` if the
 * browser cannot receive any
 * @throws {GatewayError} an operation failed
 * @throws {DOMException} the browser could not subscribe at its push service
 */
export async function subscribeToPush(
  inbox: Requester,
  { serviceWorkerUrl = '/push-service-worker.js' }: { serviceWorkerUrl?: string } = {},
): Promise<'subscribed' | 'notConfigured' | 'denied' | 'unsupported'> {
  if (!('serviceWorker' in navigator && 'PushManager' in globalThis)) return 'unsupported';
  if ((await Notification.requestPermission()) !== 'granted') return 'denied';
  const { pushPublicKey } = await inbox.request(PushPublicKey, {});
  if (pushPublicKey === null) return 'notConfigured';
  await navigator.serviceWorker.register(serviceWorkerUrl);
  const { pushManager } = await navigator.serviceWorker.ready;
  const options = { userVisibleOnly: true, applicationServerKey: pushPublicKey };
  const subscription = await pushManager.subscribe(options).catch(async () => {
    // The browser has a subscription with another key.
    await (await pushManager.getSubscription())?.unsubscribe();
    return pushManager.subscribe(options);
  });
  const { keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON();
  await inbox.request(RegisterPush, { input: { endpoint: subscription.endpoint, keys: { p256dh, auth } } });
  return 'subscribed';
}
