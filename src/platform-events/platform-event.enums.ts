/** What platform events report. */
export const platformEventTypes = [
  'notification.answered',
  'notification.expired',
  'notification.withdrawn',
  'notification.dismissed',
  'notification.restored',
  'editor_credential.stored',
  'editor_credential.refreshed',
  'editor_credential.deleted',
  'editor_credential.needs_reauth',
  'contact.suspended',
  'user.deleted',
] as const;
export type PlatformEventType = (typeof platformEventTypes)[number];
