import { InMemoryCache } from '@apollo/client';

const notifications = [
  'PlanRequestedNotification',
  'QuestionRequestedNotification',
  'TaskFailedNotification',
  'TaskResponseReadyNotification',
];

/** A cache that identifies the gateway's records. Operations select `userId` beside `id`. */
export function createApolloCache(): InMemoryCache {
  return new InMemoryCache({
    possibleTypes: { Notification: notifications, UserNotification: notifications },
    typePolicies: {
      // IDs are unique within a user. The four types inherit the policy of the interface.
      UserNotification: { keyFields: ['userId', 'id'] },
      Workspace: { keyFields: ['userId', 'id'] },
      NotificationPreference: { keyFields: ['userId', 'notificationKind'] },
      EditorAuth: { keyFields: ['userId'] },
      // A task is stored as of the publication of its notification.
      NotificationTask: { keyFields: false },
    },
  });
}
