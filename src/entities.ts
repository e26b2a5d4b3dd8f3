import { ContactSchema, PushSubscriptionSchema } from './delivery/contact.entity.ts';
import { DeliverySchema } from './delivery/delivery.entity.ts';
import { EditorCredentialSchema } from './editor-auth/editor-credential.entity.ts';
import { NotificationSchema, TaskResolutionSchema } from './notifications/notification.entity.ts';
import { NotificationPreferenceSchema } from './notifications/preferences/preference.entity.ts';
import { PlatformEventSchema, PlatformFeedSchema } from './platform-events/platform-event.entity.ts';
import { DatabaseEpochSchema, UserRevisionSchema } from './revisions/revisions.entity.ts';
import { StatisticsSchema } from './statistics/statistics.entity.ts';
import { WorkspaceDeletionSchema, WorkspaceSchema } from './workspaces/workspace.entity.ts';

/** Every table of the gateway. */
export const entities = [
  UserRevisionSchema,
  NotificationSchema,
  TaskResolutionSchema,
  NotificationPreferenceSchema,
  EditorCredentialSchema,
  WorkspaceSchema,
  WorkspaceDeletionSchema,
  ContactSchema,
  PushSubscriptionSchema,
  DeliverySchema,
  DatabaseEpochSchema,
  PlatformEventSchema,
  PlatformFeedSchema,
  StatisticsSchema,
];

/** The records whose changes increment a revision of their user, and the revisions. MikroORM only reads them. */
export const revisionedEntities = [
  UserRevisionSchema,
  NotificationSchema,
  EditorCredentialSchema,
  WorkspaceSchema,
  WorkspaceDeletionSchema,
];
