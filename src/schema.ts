import { MapperKind, mapSchema } from '@graphql-tools/utils';
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
import './editor-auth/editor-auth.graphql.ts';
import './editor-auth/platform-credentials.graphql.ts';
import './editor-auth/platform-editor-auth.graphql.ts';
import './editor-auth/refresh-credential.graphql.ts';
import './notifications/dismiss-notifications.graphql.ts';
import './notifications/dismiss-notifications.graphql.ts';
import './notifications/answers/answer-notification.graphql.ts';
import './notifications/answers/request.graphql.ts';
import './notifications/notification-counts.graphql.ts';
import './notifications/notification-events.graphql.ts';
import './notifications/notifications.graphql.ts';
import './notifications/platform-notifications.graphql.ts';
import './notifications/publish-notifications.graphql.ts';
import './notifications/resolve-notifications.graphql.ts';
import './notifications/restore-notifications.graphql.ts';
import './notifications/preferences/preferences.graphql.ts';
import './platform-feed/platform-feed.graphql.ts';
import './statistics/statistics.graphql.ts';
import './users/users.graphql.ts';
import './users/users.graphql.ts';
import './workspaces/delete-workspace.graphql.ts';
import './workspaces/platform-workspaces.graphql.ts';
import './workspaces/put-workspaces.graphql.ts';
import './workspaces/workspaces.graphql.ts';
import './workspaces/workspaces.graphql.ts';

/** The schema of all features, with the default limits, and what only the REST API uses. */
const fullSchema: GraphQLSchema = builder.toSchema({ directives: rateLimitDirectives });

/** The schema that GraphQL clients see, with the default limits. */
export const schema = hideFromClients(fullSchema);

/**
 * Creates the schemas that a gateway serves, for both APIs: every root field checks access, then the rate limit, then its
 * arguments.
 */
export function createServedSchemas(quota: Quota) {
  const rest = guardRootFields(limitRootFields(fullSchema, quota));
  return { rest, graphql: hideFromClients(rest) };
}

/** Removes what only documents of the REST API use. */
function hideFromClients(from: GraphQLSchema): GraphQLSchema {
  return mapSchema(from, {
    [MapperKind.FIELD]: (field) => (field.extensions?.isRestOnly ? null : undefined),
    [MapperKind.QUERY_ROOT_FIELD]: ({ args = {}, ...field }) => ({
      ...field,
      args: Object.fromEntries(Object.entries(args).filter(([, { extensions }]) => !extensions?.isRestOnly)),
    }),
  });
}
