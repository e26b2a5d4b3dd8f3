import {
  BATCHES_OF_100,
  changePreferences,
  PUBLICATIONS,
  publish,
  publishMany,
  putWorkspaces,
  storeSubscription,
} from './change-requests.ts';
import {
  deletePublished,
  deleteWorkspaces,
  expectPublished,
  readCredential,
  readPreferences,
  readPublished,
  readPutWorkspaces,
  resetMembers,
} from './change-results.ts';
import {
  keepAll,
  normalizePreferences,
  normalizePublication,
  normalizePublications,
  unwrapRootField,
} from './normalize.ts';
import type { Workload } from './workload.ts';

const CONNECTIONS = 16;

const published = {
  requests: publish.byGraphql,
  normalize: unwrapRootField('publishNotification', normalizePublication),
};
const preferencesImplementation = { requests: changePreferences, normalize: normalizePreferences };
const subscriptionImplementation = { requests: storeSubscription, normalize: keepAll };

/** All workloads that change records except dismissals, by name for `--only`. */
export const changeWorkloads: Readonly<Record<string, Workload>> = {
  publish: {
    title: 'publishNotification',
    callers: ({ recipients }) => recipients,
    connections: CONNECTIONS,
    mode: 'once',
    implementations: {
      gateway: published,
      // Measures the cost of announcements.
      'no-announcements': { ...published, targets: { rate: 0.95 } },
      // Measures the cost of queueing a delivery in each of the three channels.
      deliveries: published,
      'node-http': {
        requests: publish.byHttp,
        normalize: normalizePublication,
        targets: { rate: 0.7, cost: 1.6 },
      },
    },
    prepare: deletePublished,
    readEffect: readPublished,
    verify: expectPublished(PUBLICATIONS),
  },
  'publish-100': {
    title: 'publishNotifications, 100 of them',
    callers: ({ recipients }) => recipients,
    connections: CONNECTIONS,
    mode: 'once',
    implementations: {
      gateway: {
        requests: publishMany.byGraphql,
        normalize: unwrapRootField('publishNotifications', normalizePublications),
      },
      'node-http': { requests: publishMany.byHttp, normalize: normalizePublications },
    },
    prepare: deletePublished,
    readEffect: readPublished,
    verify: expectPublished(BATCHES_OF_100 * 100),
  },
  preferences: {
    title: 'PUT /user/notification-preferences',
    callers: ({ members }) => members,
    connections: CONNECTIONS,
    mode: 'timed',
    implementations: {
      gateway: preferencesImplementation,
      'node-http': { ...preferencesImplementation, targets: { rate: 0.6 } },
    },
    prepare: resetMembers,
    readEffect: readPreferences,
  },
  subscription: {
    title: 'PUT /editor/auth/subscription',
    callers: ({ members }) => members,
    connections: CONNECTIONS,
    mode: 'timed',
    implementations: {
      gateway: subscriptionImplementation,
      'node-http': { ...subscriptionImplementation, targets: { rate: 0.6 } },
    },
    prepare: resetMembers,
    readEffect: readCredential,
  },
  'put-workspaces': {
    title: 'putWorkspaces, 500 of them',
    callers: ({ owners }) => owners,
    connections: 4,
    mode: 'once',
    implementations: {
      gateway: { requests: putWorkspaces.byGraphql, normalize: unwrapRootField('putWorkspaces', keepAll) },
      'node-http': { requests: putWorkspaces.byHttp, normalize: keepAll },
    },
    prepare: deleteWorkspaces,
    readEffect: readPutWorkspaces,
  },
};
