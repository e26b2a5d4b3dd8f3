import type { Caller } from './callers.ts';
import { changeWorkloads } from './change-workloads.ts';
import { dismissAll, expectDismissed, readDismissal, restoreAll } from './dismissals.ts';
import type { LoadRequest } from './load-process.ts';
import { keepAll, normalizeDismissal, normalizeGraphqlInbox, normalizeInbox } from './normalize.ts';
import type { Workload } from './workload.ts';

const INBOX = `query Inbox($first: Int!, $after: String) {
  notifications(first: $first, after: $after) {
    nodes {
      ... on UserNotification {
        id kind status title task { name projectId } projectName occurredAt createdAt updatedAt
      }
      ... on PlanRequestedNotification { payload { summary plan } }
      ... on QuestionRequestedNotification {
        payload { questions { question options { label description preview } header id: questionId multiSelect } }
      }
      ... on TaskFailedNotification { payload { taskStatus message } }
      ... on TaskResponseReadyNotification { payload { taskStatus message } }
    }
    pageInfo { hasNextPage endCursor }
  }
}`;

/** More than the gateway's two connections for long reads; bench/waiting-memory.ts measures more. */
const LARGE_LIST_CONNECTIONS = 4;

const authorized = ({ token }: Caller) => ({ Authorization: `Bearer ${token}`, Accept: 'application/json' });

const get =
  (path: string) =>
  (caller: Caller): LoadRequest[] => [{ method: 'GET', path, headers: authorized(caller) }];

/** Requests 20 notifications as a web app does, from the start or after a cursor. */
export const requestInbox =
  (after: string | null = null) =>
  (caller: Caller): LoadRequest[] => [
    {
      method: 'POST',
      path: '/graphql',
      headers: { ...authorized(caller), 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: INBOX, operationName: 'Inbox', variables: { first: 20, after } }),
    },
  ];

const dismissEach = (caller: Caller): LoadRequest[] =>
  caller.notificationIds.map((id) => ({
    method: 'POST',
    path: `/user/notifications/${id}/dismiss`,
    headers: authorized(caller),
  }));

/** Every fourth notification of a writer is a plan. */
const listPlans = ({ notificationIds }: Caller) => notificationIds.filter((_id, index) => index % 4 === 0);

const answerEach = (caller: Caller): LoadRequest[] =>
  listPlans(caller).map((id) => ({
    method: 'POST',
    path: `/user/notifications/${id}/answer`,
    headers: { ...authorized(caller), 'Content-Type': 'application/json' },
    body: JSON.stringify({ answer_id: id, plan: { decision: 'approve' } }),
  }));

const dismissPlans = (caller: Caller): LoadRequest[] =>
  dismissEach({ ...caller, notificationIds: listPlans(caller) });

/** Requests all workspaces. */
export const requestWorkspaces = get('/user/workspaces');

const inbox = { requests: requestInbox(), normalize: normalizeGraphqlInbox };
const workspaces = { requests: requestWorkspaces, normalize: keepAll };
const editorAuth = { requests: get('/editor/auth'), normalize: keepAll };
const dismissal = { requests: dismissEach, normalize: normalizeDismissal };
/** What is answered cannot equal what is dismissed. */
const normalizeNothing = () => ({});
const dismissedBefore = { requests: dismissEach, normalize: keepAll };

/** All workloads, by name for `--only`. */
export const workloads: Readonly<Record<string, Workload>> = {
  notifications: {
    title: '20 notifications by GraphQL',
    callers: ({ readers }) => readers,
    connections: 32,
    mode: 'timed',
    implementations: {
      gateway: inbox,
      mercurius: { ...inbox, targets: { rate: 1.25 } },
      apollo: { ...inbox, targets: { rate: 4 } },
      'node-http': { requests: get('/inbox?first=20'), normalize: normalizeInbox, targets: { rate: 0.9 } },
    },
  },
  workspaces: {
    title: 'GET /user/workspaces, 100 of them',
    callers: ({ readers }) => readers,
    connections: 32,
    mode: 'timed',
    implementations: { gateway: workspaces, fastify: { ...workspaces, targets: { rate: 1 } } },
  },
  'editor-auth': {
    title: 'GET /editor/auth',
    callers: ({ readers }) => readers,
    connections: 32,
    mode: 'timed',
    implementations: { gateway: editorAuth, 'node-http': { ...editorAuth, targets: { rate: 0.7 } } },
  },
  dismiss: {
    title: 'POST /user/notifications/{id}/dismiss, of active ones',
    callers: ({ writers }) => writers,
    connections: 32,
    mode: 'once',
    implementations: { gateway: dismissal, 'node-http': { ...dismissal, targets: { rate: 0.8 } } },
    prepare: restoreAll,
    readEffect: readDismissal,
    verify: expectDismissed,
  },
  answer: {
    title: 'POST /user/notifications/{id}/answer, of open plans',
    callers: ({ writers }) => writers,
    connections: 32,
    mode: 'once',
    implementations: {
      gateway: { requests: answerEach, normalize: normalizeNothing },
      dismissals: { requests: dismissPlans, normalize: normalizeNothing, targets: { cost: 1.3 } },
    },
    prepare: restoreAll,
  },
  'dismiss-again': {
    title: 'POST /user/notifications/{id}/dismiss, of dismissed ones',
    callers: ({ writers }) => writers,
    connections: 32,
    mode: 'timed',
    implementations: { gateway: dismissedBefore, 'node-http': dismissedBefore },
    prepare: dismissAll,
  },
  'large-list': {
    title: 'GET /user/workspaces, 10,000 of them',
    callers: ({ collectors }) => collectors,
    connections: LARGE_LIST_CONNECTIONS,
    mode: 'once',
    implementations: { gateway: workspaces, 'node-http': { ...workspaces, targets: { rate: 0.7 } } },
  },
  ...changeWorkloads,
};
