self.addEventListener('push', (event) => {
  const { notificationId, title, request, details, url } = event.data.json();
  const body = details === null ? request : `${request}\n${details}`;
  // A message with the tag of a shown notification replaces it.
  const options = { body, tag: notificationId, data: { url } };
  event.waitUntil(self.registration.showNotification(title, options));
});

self.addEventListener('notificationclick', (event) => {
  const { tag: notificationId, data } = event.notification;
  event.notification.close();
  event.waitUntil(show({ notificationId, url: data.url }));
});

/** Brings a page to the front that listens to clicks (`onPushClick`), or opens one. A click allows only one of both. */
async function show(click) {
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  for (const page of pages) {
    if (await hears(page, click)) return page.focus();
  }
  return self.clients.openWindow(click.url ?? '/');
}

/** Sends a click to a page, which this worker does not control, and returns whether it replies. */
function hears(page, click) {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => resolve(true);
    setTimeout(resolve, 500, false);
    page.postMessage({ type: 'workspace-account:push-click', ...click }, [port2]);
  });
}
