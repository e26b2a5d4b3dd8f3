import {
  effectOfPreferences,
  effectOfPublishing,
  effectOfPutting,
  effectOfSubscription,
  expectPublished,
  forgetMembers,
  removeWorkspaces,
  unpublish,
} from './change-effects.ts';
import {
  BATCHES_OF_100,
  changePreferences,
  PUBLICATIONS,
  publish,
  publishMany,
  putWorkspaces,
  storeSubscription,
} from './change-requests.ts';
import { ofRootField, preferences, publication, publications, whole } from './content.ts';
import type { Work } from './work.ts';

/** As many as the gateway was measured with while it was made faster. */
const CONNECTIONS = 16;

const published = { requests: publish.byGraphql, content: ofRootField('publishNotification', publication) };
const preferencesWay = { requests: changePreferences, content: preferences };
const subscriptionWay = { requests: storeSubscription, content: whole };

/** Everything that changes records but dismissing, by the name that `--only` takes. */
export const changeWorks: Readonly<Record<string, Work>> = {
  publish: {
    title: 'publishNotification',
    callers: ({ recipients }) => recipients,
    connections: CONNECTIONS,
    ends: 'when all is asked',
    ways: {
      gateway: published,
      // What announcing costs.
      quiet: { ...published, targets: { rate: 0.95 } },
      'node-http': {
        requests: publish.byHttp,
        content: publication,
        targets: { rate: 0.7, cost: 1.6 },
      },
    },
    prepare: unpublish,
    effect: effectOfPublishing,
    verify: expectPublished(PUBLICATIONS),
  },
  'publish-100': {
    title: 'publishNotifications, 100 of them',
    callers: ({ recipients }) => recipients,
    connections: CONNECTIONS,
    ends: 'when all is asked',
    ways: {
      gateway: {
        requests: publishMany.byGraphql,
        content: ofRootField('publishNotifications', publications),
      },
      'node-http': { requests: publishMany.byHttp, content: publications },
    },
    prepare: unpublish,
    effect: effectOfPublishing,
    verify: expectPublished(BATCHES_OF_100 * 100),
  },
  preferences: {
    title: 'PUT /user/notification-preferences',
    callers: ({ members }) => members,
    connections: CONNECTIONS,
    ends: 'by time',
    ways: { gateway: preferencesWay, 'node-http': { ...preferencesWay, targets: { rate: 0.6 } } },
    prepare: forgetMembers,
    effect: effectOfPreferences,
  },
  subscription: {
    title: 'PUT /editor/auth/subscription',
    callers: ({ members }) => members,
    connections: CONNECTIONS,
    ends: 'by time',
    ways: { gateway: subscriptionWay, 'node-http': { ...subscriptionWay, targets: { rate: 0.6 } } },
    prepare: forgetMembers,
    effect: effectOfSubscription,
  },
  'put-workspaces': {
    title: 'putWorkspaces, 500 of them',
    callers: ({ owners }) => owners,
    connections: 4,
    ends: 'when all is asked',
    ways: {
      gateway: { requests: putWorkspaces.byGraphql, content: ofRootField('putWorkspaces', whole) },
      'node-http': { requests: putWorkspaces.byHttp, content: whole },
    },
    prepare: removeWorkspaces,
    effect: effectOfPutting,
  },
};
