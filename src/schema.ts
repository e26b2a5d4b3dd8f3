import type { GraphQLSchema } from 'graphql';
import { builder } from './graphql/builder.ts';
import './graphql/platform.ts';
import { guardRootFields, limitRootFields, rateLimitDirectives } from './graphql/root-fields.ts';
import type { Quota } from './quota/quota.ts';
import './graphql/error-enums.ts';
import './account-events/account-events.graphql.ts';
import './delivery/delivery.graphql.ts';
import './delivery/contacts.graphql.ts';
import './delivery/platform-deliveries.graphql.ts';
import './delivery/push-subscriptions.graphql.ts';
import './editor-auth/editor-auth.graphql.ts';
import './editor-auth/editor-auth-events.graphql.ts';
import './editor-auth/platform-credentials.graphql.ts';
import './editor-auth/platform-editor-auth.graphql.ts';
import './editor-auth/refresh-credential.graphql.ts';
import './notifications/dismiss-notifications.graphql.ts';
import './notifications/restore-notification.graphql.ts';
import './notifications/answers/answer-notification.graphql.ts';
import './notifications/answers/request.graphql.ts';
import './notifications/notification-counts.graphql.ts';
import './notifications/notification-events.graphql.ts';
import './notifications/notifications.graphql.ts';
import './notifications/platform-notifications.graphql.ts';
import './notifications/publish-notifications.graphql.ts';
import './notifications/resolve-notifications.graphql.ts';
import './notifications/preferences/preferences.graphql.ts';
import './platform-feed/platform-feed.graphql.ts';
import './statistics/statistics.graphql.ts';
import './users/users.graphql.ts';
import './users/delete-user.graphql.ts';
import './workspaces/delete-workspace.graphql.ts';
import './workspaces/platform-workspaces.graphql.ts';
import './workspaces/put-workspaces.graphql.ts';
import './workspaces/workspace-events.graphql.ts';
import './workspaces/workspaces.graphql.ts';

/** The schema of all features, with the default limits. */
export const schema: GraphQLSchema = builder.toSchema({ directives: rateLimitDirectives });

/** Creates the schema that a gateway serves: every root field checks access, then the rate limit, then its arguments. */
export function createServedSchema(quota: Quota): GraphQLSchema {
  return guardRootFields(limitRootFields(schema, quota));
}
