import type { GraphQLSchema } from 'graphql';
import { builder } from './graphql/builder.ts';
import { guardSchema } from './graphql/guard-schema.ts';
import { rateLimitDirectives } from './graphql/rate-limit-directive.ts';
import './delivery/delivery.graphql.ts';
import './delivery/contacts.graphql.ts';
import './delivery/push-subscriptions.graphql.ts';
import './editor-auth/editor-auth.graphql.ts';
import './editor-auth/editor-auth-events.graphql.ts';
import './editor-auth/platform-editor-auth.graphql.ts';
import './editor-auth/refresh-credential.graphql.ts';
import './notifications/dismiss-notifications.graphql.ts';
import './notifications/notification-counts.graphql.ts';
import './notifications/notification-events.graphql.ts';
import './notifications/notifications.graphql.ts';
import './notifications/publish-notifications.graphql.ts';
import './notifications/resolve-notifications.graphql.ts';
import './notifications/preferences/preferences.graphql.ts';
import './statistics/statistics.graphql.ts';
import './users/users.graphql.ts';
import './users/delete-user.graphql.ts';
import './workspaces/delete-workspace.graphql.ts';
import './workspaces/put-workspaces.graphql.ts';
import './workspaces/workspace-events.graphql.ts';
import './workspaces/workspaces.graphql.ts';

/** The schema of all features. Every root field checks access, then the rate limit, then its arguments. */
export const schema: GraphQLSchema = guardSchema(builder.toSchema({ directives: rateLimitDirectives }));
