import type { Caller } from './callers.ts';
import type { LoadRequest } from './load-process.ts';

/*
 * The requests of everything that changes records, as the gateway and `node:http` take them. Both get the same input;
 * what GraphQL needs besides is in the gateway's.
 */

/** Notifications that a recipient gets in a run, one by one. */
export const PUBLICATIONS = 150;
/** Calls of a recipient in a run that publish 100 at once. */
export const BATCHES_OF_100 = 6;
/** Calls of an owner in a run, and the workspaces in each. */
const PUTS = 8;
const WORKSPACES = 500;

/** What publishing asks of a stored notification. */
const RESULT = 'created channels notification { ... on UserNotification { id status createdAt } }';

const PUBLISH = `mutation Publish($input: PublishNotificationInput!) { publishNotification(input: $input) { ${RESULT} } }`;
const PUBLISH_MANY = `mutation PublishMany($input: PublishNotificationsInput!) {
  publishNotifications(input: $input) { results { ${RESULT} } }
}`;
const PUT_WORKSPACES = `mutation Put($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id } } }`;

const headersOf = ({ token }: Caller) => ({
  Authorization: `Bearer ${token}`,
  Accept: 'application/json',
  'Content-Type': 'application/json',
});

const graphql = (caller: Caller, query: string, input: object): LoadRequest => ({
  method: 'POST',
  path: '/graphql',
  headers: headersOf(caller),
  body: JSON.stringify({ query, variables: { input } }),
});

const plain = (caller: Caller, method: 'POST' | 'PUT', path: string, body: object): LoadRequest => ({
  method,
  path,
  headers: headersOf(caller),
  body: JSON.stringify(body),
});

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

/** A notification of a task of its own. Its time is given: what differs is then the time of arrival alone. */
export function notificationOf(userId: string, id: string) {
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

const inputsOf = ({ userId }: Caller) =>
  upTo(PUBLICATIONS).map((index) => notificationOf(userId, `${userId}-one-${index}`));

/** Every item goes to another user. */
const batchesOf = ({ userId }: Caller) =>
  upTo(BATCHES_OF_100).map((call) => ({
    notifications: upTo(100).map((item) =>
      notificationOf(`${userId}-${item}`, `${userId}-many-${call}-${item}`),
    ),
  }));

const putsOf = ({ userId }: Caller) =>
  upTo(PUTS).map((call) => ({
    userId,
    workspaces: upTo(WORKSPACES).map((index) => workspaceAt(index, call)),
  }));

/** A state of a workspace; each call's is newer than those before. */
export function workspaceAt(index: number, call: number) {
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

/** Publishing one by one. */
export const publish = {
  byGraphql: (caller: Caller) => inputsOf(caller).map((input) => graphql(caller, PUBLISH, input)),
  byHttp: (caller: Caller) => inputsOf(caller).map((input) => plain(caller, 'POST', '/notification', input)),
};

/** Publishing 100 at once. */
export const publishMany = {
  byGraphql: (caller: Caller) => batchesOf(caller).map((input) => graphql(caller, PUBLISH_MANY, input)),
  byHttp: (caller: Caller) =>
    batchesOf(caller).map((input) => plain(caller, 'POST', '/notifications', input)),
};

/** Putting 500 workspaces. */
export const putWorkspaces = {
  byGraphql: (caller: Caller) => putsOf(caller).map((input) => graphql(caller, PUT_WORKSPACES, input)),
  byHttp: (caller: Caller) => putsOf(caller).map((input) => plain(caller, 'PUT', '/workspaces', input)),
};

/** Every request changes all kinds: what it turns off the next turns on. */
export const changePreferences = (caller: Caller): LoadRequest[] =>
  [false, true].map((isOn) =>
    plain(caller, 'PUT', '/user/notification-preferences', {
      preferences: [{ email_enabled: isOn, push_enabled: isOn, chat_dm_enabled: isOn }],
    }),
  );

/** A new pair of tokens of a common length. */
export const storeSubscription = (caller: Caller): LoadRequest[] => [
  plain(caller, 'PUT', '/editor/auth/subscription', {
    accessToken: `access-${'a'.repeat(800)}`,
    refreshToken: `refresh-${'r'.repeat(100)}`,
  }),
];
