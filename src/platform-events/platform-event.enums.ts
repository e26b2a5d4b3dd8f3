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

/** The types that report changes of an editor credential. */
export const credentialEventTypes = {
  stored: 'editor_credential.stored',
  refreshed: 'editor_credential.refreshed',
  deleted: 'editor_credential.deleted',
  needsReauth: 'editor_credential.needs_reauth',
} as const satisfies Readonly<Record<string, PlatformEventType>>;
