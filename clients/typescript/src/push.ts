import { PushPublicKey, RegisterPush, RemovePush } from './generated/documents.ts';
import { expectValue } from './transport.ts';
import type { TypedDocument } from './typed-document.ts';

/** Executes operations, like an inbox. */
type Requester = {
  request<Data, Variables>(document: TypedDocument<Data, Variables>, variables: Variables): Promise<Data>;
};

/** A click on a push message. */
export type PushClick = {
  readonly notificationId: string;
  /** The page of the notification by the gateway's `APP_URL`; null if it has none. */
  readonly url: string | null;
};

/** The type of the message that the service worker sends to a page. */
const CLICK = 'workspace-account:push-click';

/** Where the scope of the service worker and the ID of the subscription are stored. */
const STORED = 'workspace-account:push';

const isSupported = () => 'serviceWorker' in navigator && 'PushManager' in globalThis;

/**
 * Registers this browser for push messages. Asks for the permission to show notifications if the gateway sends any.
 * Browsers allow the question only in reaction to a click; once it is given, call this at every start of the app to keep the
 * subscription current.
 *
 * @param options.serviceWorkerUrl where the app serves `push-service-worker.js`; `/push-service-worker.js` by default. It is
 * registered for a scope without pages, and replaces no service worker of the app.
 * @param options.registration a service worker of the app instead, which shows the messages. It has one subscription: one
 * with the key of another server is replaced.
 * @returns `denied` without the permission, `notConfigured` if the gateway sends no push messages, and `unsupported` if the
 * browser cannot receive any
 * @throws {GatewayError} an operation failed
 * @throws {DOMException} the browser could not subscribe at its push service
 */
export async function subscribeToPush(
  inbox: Requester,
  options: { serviceWorkerUrl?: string; registration?: ServiceWorkerRegistration } = {},
): Promise<'subscribed' | 'notConfigured' | 'denied' | 'unsupported'> {
  if (!isSupported()) return 'unsupported';
  const { pushPublicKey } = await inbox.request(PushPublicKey, {});
  if (pushPublicKey === null) return 'notConfigured';
  if ((await Notification.requestPermission()) !== 'granted') return 'denied';
  const { scope, pushManager } =
    options.registration ?? (await register(options.serviceWorkerUrl ?? '/push-service-worker.js'));
  const settings = { userVisibleOnly: true, applicationServerKey: pushPublicKey };
  const subscription = await pushManager.subscribe(settings).catch(async () => {
    // The browser has a subscription with another key.
    await (await pushManager.getSubscription())?.unsubscribe();
    return pushManager.subscribe(settings);
  });
  const { keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON();
  const input = { endpoint: subscription.endpoint, keys: { p256dh, auth } };
  const { registerPushSubscription } = await inbox.request(RegisterPush, { input });
  const { id } = expectValue(registerPushSubscription).pushSubscription;
  localStorage.setItem(STORED, JSON.stringify([scope, id]));
  return 'subscribed';
}

/** Registers the package's service worker for a scope of its own, and waits until it is active. */
async function register(url: string): Promise<ServiceWorkerRegistration> {
  const script = new URL(url, location.href).href;
  const scope = new URL('workspace-account-push/', script).href;
  const registration = await navigator.serviceWorker.register(script, { scope });
  // Earlier versions registered it for the pages of the app.
  for (const other of await navigator.serviceWorker.getRegistrations()) {
    if (other.scope !== scope && other.active?.scriptURL === script) await other.unregister();
  }
  const worker = registration.installing ?? registration.waiting;
  if (registration.active === null && worker !== null) {
    await new Promise<void>((resolve) => {
      worker.addEventListener('statechange', () => {
        if (['activated', 'redundant'].includes(worker.state)) resolve();
      });
    });
  }
  return registration;
}

/**
 * Ends what `subscribeToPush` began in this browser, also before a reload of the page. `signOut` of the inbox calls it.
 * @throws {GatewayError} if the gateway rejects or misses the request; the browser receives no more messages in any case
 */
export async function unsubscribeFromPush(inbox: Requester): Promise<void> {
  const [scope, id] = readStored();
  if (scope === undefined || id === undefined || !isSupported()) return;
  localStorage.removeItem(STORED);
  const registration = await navigator.serviceWorker.getRegistration(scope);
  const subscription = await registration?.pushManager.getSubscription();
  await subscription?.unsubscribe();
  await inbox.request(RemovePush, { input: { id } });
}

function readStored(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]');
    return Array.isArray(stored) ? stored.map(String) : [];
  } catch {
    // Programs outside of browsers have no storage, and pages may not be allowed to use it.
    return [];
  }
}

/**
 * Calls the listener when the user clicks a push message and the browser brings this page to the front. Show the
 * notification, for example by `location.assign(url)`. Without a listener in any page, the browser opens another one.
 * @returns a function that ends this
 */
export function onPushClick(listener: (click: PushClick) => void): () => void {
  if (!isSupported()) return () => undefined;
  const { serviceWorker } = navigator;
  const receive = ({ data, ports }: MessageEvent) => {
    if (data?.type !== CLICK) return;
    ports[0]?.postMessage(null);
    listener({ notificationId: String(data.notificationId), url: data.url });
  };
  serviceWorker.addEventListener('message', receive);
  serviceWorker.startMessages();
  return () => serviceWorker.removeEventListener('message', receive);
}
