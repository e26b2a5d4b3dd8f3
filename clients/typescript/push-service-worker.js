self.addEventListener('push', (event) => {
  const { notificationId, title, request, details, url } = event.data.json();
  const body = details === null ? request : `${request}\n${details}`;
  // A message with the tag of a shown notification replaces it.
  const options = { body, tag: notificationId, data: { url } };
  event.waitUntil(self.registration.showNotification(title, options));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { url } = event.notification.data;
  if (url !== null) event.waitUntil(self.clients.openWindow(url));
});
