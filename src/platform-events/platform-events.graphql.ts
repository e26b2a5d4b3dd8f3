import { builder } from '../graphql/builder.ts';

export const PlatformEventTypeEnum = builder.enumType('PlatformEventType', {
  description: 'What a platform event reports.',
  values: {
    NOTIFICATION_ANSWERED: { value: 'notification.answered', description: 'A request was answered.' },
    NOTIFICATION_EXPIRED: {
      value: 'notification.expired',
      description: 'A request expired without an answer.',
    },
    NOTIFICATION_WITHDRAWN: {
      value: 'notification.withdrawn',
      description: 'A request was superseded or resolved without an answer.',
    },
    NOTIFICATION_DISMISSED: { value: 'notification.dismissed', description: 'The user dismissed a request.' },
    NOTIFICATION_RESTORED: {
      value: 'notification.restored',
      description: 'The user undid the dismissal of a request.',
    },
    EDITOR_CREDENTIAL_STORED: {
      value: 'editor_credential.stored',
      description: 'The user stored an editor credential.',
    },
    EDITOR_CREDENTIAL_REFRESHED: {
      value: 'editor_credential.refreshed',
      description: 'The platform stored a refreshed editor credential.',
    },
    EDITOR_CREDENTIAL_DELETED: {
      value: 'editor_credential.deleted',
      description: 'The user deleted the editor credential.',
    },
    EDITOR_CREDENTIAL_NEEDS_REAUTH: {
      value: 'editor_credential.needs_reauth',
      description: 'The platform reported that the editor credential failed. The user must connect again.',
    },
    CONTACT_SUSPENDED: {
      value: 'contact.suspended',
      description: 'Delivery over a channel was suspended because the provider rejected the address.',
    },
    USER_DELETED: {
      value: 'user.deleted',
      description: "All data of the user was deleted, the user's earlier events included.",
    },
  } as const,
});
