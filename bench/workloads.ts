import type { LoadRequest } from './load.ts';
import {
  createNotification,
  graphql,
  publishMany,
  range,
  rest,
  storeSubscription,
  type Users,
} from './records.ts';

/** Work that the gateway and its peers do, by the same requests and with equal replies. */
export type Workload = {
  title: string;
  /** The programs of `peers/`. */
  peers: readonly string[];
  /** The requests of a connection, of which there are 30; each batch has a number. */
  requests(users: Users, lane: number, batch: string): LoadRequest[];
  /** Requests to the gateway before each batch. */
  prepare?(users: Users, lane: number, batch: string): LoadRequest[];
  /** What the requests of a connection change, which must be equal, too. */
  effect?: ((users: Users, lane: number) => LoadRequest) | undefined;
};

/** Requests of each connection in a batch of 1,200. */
const EACH = 40;

type UserKey = 'readers' | 'writers' | 'members';

const userOf = (users: Users, key: UserKey, lane: number) => {
  const user = users[key][lane];
  if (user === undefined) throw new Error(`There is no user ${lane}.`);
  return user;
};

/** Requests of one user, who has a connection. */
const requestsOf =
  (key: UserKey, create: (token: string, index: number) => LoadRequest): Workload['requests'] =>
  (users, lane) => {
    const { token } = userOf(users, key, lane);
    return range(EACH).map((index) => create(token, index));
  };

const readAs =
  (key: UserKey, path: string): Workload['effect'] =>
  (users, lane) =>
    rest(userOf(users, key, lane).token, path);

/** Many, so that each has few notifications. */
const recipientOf = (lane: number, index: number) => `recipient-${lane * EACH + index}`;

/** The IDs of a batch's new plans, which a member answers. */
const planIdsOf = (lane: number, batch: string) => range(EACH).map((index) => `${batch}-${lane}-${index}`);

/** All workloads, by name for `--only`. */
export const workloads: Readonly<Record<string, Workload>> = {
  notifications: {
    title: '20 notifications over GraphQL',
    peers: ['mercurius', 'mercurius-equipped', 'apollo', 'node-http'],
    requests: requestsOf('readers', (token) => graphql(token, 'Inbox', { first: 20 })),
  },
  workspaces: {
    title: '`GET /user/workspaces`, 100 records',
    peers: ['fastify'],
    requests: requestsOf('readers', (token) => rest(token, '/user/workspaces')),
  },
  'editor-auth': {
    title: '`GET /editor/auth`',
    peers: ['node-http'],
    requests: requestsOf('readers', (token) => rest(token, '/editor/auth')),
  },
  dismiss: {
    title: '`POST /user/notifications/{id}/dismiss`',
    peers: ['node-http'],
    requests: (users, lane) => {
      const { token, ids } = userOf(users, 'writers', lane);
      return ids.map((id) => rest(token, `/user/notifications/${id}/dismiss`, 'POST'));
    },
    prepare: (users, lane) => {
      const { token, ids } = userOf(users, 'writers', lane);
      return ids.map((id) => graphql(token, 'Restore', { id }));
    },
    effect: readAs('writers', '/user/notifications'),
  },
  answer: {
    title: '`POST /user/notifications/{id}/answer`',
    peers: [],
    requests: (users, lane, batch) => {
      const { token } = userOf(users, 'members', lane);
      const body = { answer_id: 'bench', plan: { decision: 'approve' } };
      return planIdsOf(lane, batch).map((id) =>
        rest(token, `/user/notifications/${id}/answer`, 'POST', body),
      );
    },
    prepare: (users, lane, batch) => {
      const { userId } = userOf(users, 'members', lane);
      const plans = planIdsOf(lane, batch).map((id) => createNotification(userId, id));
      return [publishMany(users.platform, plans)];
    },
  },
  publish: {
    title: '`publishNotification`',
    peers: ['node-http'],
    requests: ({ platform }, lane, batch) =>
      range(EACH).map((index) => {
        const userId = recipientOf(lane, index);
        return graphql(platform, 'Publish', { input: createNotification(userId, `${batch}-${userId}`) });
      }),
    effect: ({ platform }, lane) => graphql(platform, 'Published', { id: recipientOf(lane, 0) }),
  },
  preferences: {
    title: '`PUT /user/notification-preferences`',
    peers: ['node-http'],
    requests: requestsOf('members', (token, index) => {
      const isOn = index % 2 === 1;
      const preferences = [{ email_enabled: isOn, push_enabled: isOn, chat_dm_enabled: isOn }];
      return rest(token, '/user/notification-preferences', 'PUT', { preferences });
    }),
    effect: readAs('members', '/user/notification-preferences'),
  },
  subscription: {
    title: '`PUT /editor/auth/subscription`',
    peers: ['node-http'],
    requests: requestsOf('members', storeSubscription),
    effect: readAs('members', '/editor/auth'),
  },
};
