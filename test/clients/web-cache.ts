import { type Cache, cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import type { ResultOf } from 'gql.tada';
import { keys } from './graphcache-keys.ts';
import { Counts, type Dismiss, type Events } from './web-operations.ts';
import { introspection } from './web-schema.ts';

/**
 * A cache that stores every notification, preference and workspace once, and updates the inbox when they change.
 * @throws {Error} from an operation that the cache cannot normalize
 */
export function createCache() {
  return cacheExchange({
    schema: introspection,
    keys,
    resolvers: { Query: { notifications: relayPagination(), workspaces: relayPagination() } },
    updates: {
      Mutation: {
        dismissNotification({ dismissNotification: done }: ResultOf<typeof Dismiss>, _variables, cache) {
          if (done) updateInbox(cache, done.notification);
        },
      },
      Subscription: {
        notificationEvents({ notificationEvents: event }: ResultOf<typeof Events>, _variables, cache) {
          updateInbox(cache, event.notification);
          cache.updateQuery({ query: Counts }, (now) =>
            now?.notificationCounts
              ? {
                  notificationCounts: {
                    ...now.notificationCounts,
                    total: event.counts.total,
                    cursor: event.cursor,
                  },
                }
              : now,
          );
        },
      },
    },
    logger(severity, message) {
      if (severity !== 'debug') throw new Error(message);
    },
  });
}

type Change = Pick<
  ResultOf<typeof Events>['notificationEvents']['notification'],
  '__typename' | 'userId' | 'id' | 'status'
>;

/** Adds a new active notification to the top of the inbox and removes any other from it. */
function updateInbox(cache: Cache, notification: Change): void {
  const key = cache.keyOfEntity(notification);
  for (const { fieldName, arguments: args } of cache.inspectFields('Query')) {
    if (fieldName !== 'notifications') continue;
    const page = cache.resolve('Query', fieldName, args);
    const nodes = typeof page === 'string' ? cache.resolve(page, 'nodes') : null;
    if (typeof page !== 'string' || !Array.isArray(nodes)) continue;
    if (notification.status !== 'ACTIVE') {
      cache.link(
        page,
        'nodes',
        nodes.filter((node) => node !== key),
      );
    } else if (!args?.after && !nodes.includes(key)) cache.link(page, 'nodes', [key, ...nodes]);
  }
}
