/** Sends an operation to the gateway with the user's token, and returns its data. */
type Send = (query: string, variables?: object) => Promise<{ pushPublicKey?: string | null }>;

const register = `mutation Register($input: RegisterPushSubscriptionInput!) {
  registerPushSubscription(input: $input) { pushSubscription { id } }
}`;

/** Registers this browser for push. Requires the permission for notifications. */
export async function subscribeToPush(send: Send): Promise<void> {
  const { pushPublicKey } = await send('{ pushPublicKey }');
  if (!pushPublicKey) return;
  await navigator.serviceWorker.register('/push-service-worker.js');
  const { pushManager } = await navigator.serviceWorker.ready;
  const options = { userVisibleOnly: true, applicationServerKey: pushPublicKey };
  const subscription = await pushManager.subscribe(options).catch(async () => {
    // The browser has a subscription with another key.
    await (await pushManager.getSubscription())?.unsubscribe();
    return pushManager.subscribe(options);
  });
  // JSON.stringify calls its toJSON().
  await send(register, { input: subscription });
}
