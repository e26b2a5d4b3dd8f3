import type { Caller } from './callers.ts';
import type { LoadRequest } from './load-process.ts';

/* Requests that change records, as GraphQL for the gateway and as plain HTTP for `node:http`, with the same input. */

/** Notifications published to each recipient in a run, one per request. */
export const PUBLICATIONS = 150;
/** Requests per recipient and run that publish 100 notifications each. */
export const BATCHES_OF_100 = 6;
/** Requests per owner and run, and workspaces in each. */
const PUTS = 8;
const WORKSPACES = 500;

/** The fields selected after publishing. */
const RESULT = 'created channels notification { ... on UserNotification { id status createdAt } }';

const PUBLISH = `mutation Publish($input: PublishNotificationInput!) { publishNotification(input: $input) { ${RESULT} } }`;
const PUBLISH_MANY = `mutation PublishMany($input: PublishNotificationsInput!) {
  publishNotifications(input: $input) { results { ${RESULT} } }
}`;
const PUT_WORKSPACES = `mutation Put($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id } } }`;

const createHeaders = ({ token }: Caller) => ({
  Authorization: `Bearer ${token}`,
  Accept: 'application/json',
  'Content-Type': 'application/json',
});

const graphql = (caller: Caller, query: string, input: object): LoadRequest => ({
  method: 'POST',
  path: '/graphql',
  headers: createHeaders(caller),
  body: JSON.stringify({ query, variables: { input } }),
});

const plain = (caller: Caller, method: 'POST' | 'PUT', path: string, body: object): LoadRequest => ({
  method,
  path,
  headers: createHeaders(caller),
  body: JSON.stringify(body),
});

const range = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Creates the input of a notification. Each has its own task, so that none replaces another. */
export function createNotification(userId: string, id: string) {
  return {
    userId,
    id,
    task: { id: `task-${id}`, projectId: 'web-shop', name: 'Move the cart to the database' },
    title: 'The next step needs an answer before the task can go on',
    payload: {
      planRequested: {
        toolId: `toolu_${id}`,
        input: {
          summary: 'Move the cart from the session to the database',
          plan: '1. Add a table for carts and a key to its user\n2. Write through the session to the table\n3. Read from the table, and from the session where it has no row yet\n4. Drop the session copy',
          allowedTools: ['edit', 'test'],
        },
      },
    },
    occurredAt: '2026-01-05T08:00:00.000Z',
    previewText: 'The cart is in the session today; this moves it to a table of its own.',
    prUrl: 'https://git.example.com/acme/web-shop/pulls/214',
    projectName: 'Web shop',
    projectRepoUrl: 'https://git.example.com/acme/web-shop.git',
  };
}

const createInputs = ({ userId }: Caller) =>
  range(PUBLICATIONS).map((index) => createNotification(userId, `${userId}-one-${index}`));

/** Creates batches in which every notification has a different user. */
const createBatches = ({ userId }: Caller) =>
  range(BATCHES_OF_100).map((call) => ({
    notifications: range(100).map((item) =>
      createNotification(`${userId}-${item}`, `${userId}-many-${call}-${item}`),
    ),
  }));

const createPuts = ({ userId }: Caller) =>
  range(PUTS).map((call) => ({
    userId,
    workspaces: range(WORKSPACES).map((index) => createWorkspace(index, call)),
  }));

/** Creates the state of a workspace, which is newer than that of the previous call. */
export function createWorkspace(index: number, call: number) {
  const minute = String(call).padStart(2, '0');
  return {
    id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    projectId: `project-${index % 7}`,
    status: call % 2 === 0 ? 'RUNNING' : 'STOPPED',
    hardware: { cpuKind: 'shared', cpus: 2, memoryMb: 4096, volumeSizeGb: 20 },
    keepActive: index % 3 === 0,
    machineId: `machine-${index}`,
    privateIp: `10.20.0.${index % 256}`,
    gitRef: `refs/heads/cart-${index}`,
    previewToken: `preview-${index}`,
    createdAt: '2026-01-05T08:00:00.000Z',
    updatedAt: `2026-01-05T09:${minute}:00.000Z`,
  };
}

/** Requests that publish one notification each. */
export const publish = {
  byGraphql: (caller: Caller) => createInputs(caller).map((input) => graphql(caller, PUBLISH, input)),
  byHttp: (caller: Caller) =>
    createInputs(caller).map((input) => plain(caller, 'POST', '/notification', input)),
};

/** Requests that publish 100 notifications each. */
export const publishMany = {
  byGraphql: (caller: Caller) => createBatches(caller).map((input) => graphql(caller, PUBLISH_MANY, input)),
  byHttp: (caller: Caller) =>
    createBatches(caller).map((input) => plain(caller, 'POST', '/notifications', input)),
};

/** Requests that store 500 workspaces each. */
export const putWorkspaces = {
  byGraphql: (caller: Caller) => createPuts(caller).map((input) => graphql(caller, PUT_WORKSPACES, input)),
  byHttp: (caller: Caller) => createPuts(caller).map((input) => plain(caller, 'PUT', '/workspaces', input)),
};

/** Requests that change the preferences of all kinds, off and on in turn. */
export const changePreferences = (caller: Caller): LoadRequest[] =>
  [false, true].map((isOn) =>
    plain(caller, 'PUT', '/user/notification-preferences', {
      preferences: [{ email_enabled: isOn, push_enabled: isOn, chat_dm_enabled: isOn }],
    }),
  );

/** A request that stores tokens of realistic length. */
export const storeSubscription = (caller: Caller): LoadRequest[] => [
  plain(caller, 'PUT', '/editor/auth/subscription', {
    accessToken: `access-${'a'.repeat(800)}`,
    refreshToken: `refresh-${'r'.repeat(100)}`,
  }),
];
