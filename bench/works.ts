import type { Caller } from './callers.ts';
import { changeWorks } from './change-works.ts';
import { dismissedNow, graphqlInbox, plainInbox, whole } from './content.ts';
import { dismissAll, effectOfDismissal, expectDismissed, restoreAll } from './dismissals.ts';
import type { LoadRequest } from './load-process.ts';
import type { Work } from './work.ts';

const INBOX = `query Inbox($first: Int!, $after: String) {
  notifications(first: $first, after: $after) {
    nodes {
      ... on UserNotification {
        id kind status title task { name projectId } projectName occurredAt createdAt updatedAt
      }
      ... on PlanRequestedNotification { payload { summary plan } }
      ... on QuestionRequestedNotification {
        payload { questions { question options { label description preview } header questionId multiSelect } }
      }
      ... on TaskFailedNotification { payload { taskStatus message } }
      ... on TaskResponseReadyNotification { payload { taskStatus message } }
    }
    pageInfo { hasNextPage endCursor }
  }
}`;

/** Fewer than the pools have connections: what many of them cost together is measured by itself. */
const LARGE_CALLERS = 4;

const authorized = ({ token }: Caller) => ({ Authorization: `Bearer ${token}`, Accept: 'application/json' });

const get =
  (path: string) =>
  (caller: Caller): LoadRequest[] => [{ method: 'GET', path, headers: authorized(caller) }];

/** The inbox as a web app asks for it, from the start or behind a cursor. */
export const askForInbox =
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

/** All workspaces of a caller. */
export const askForWorkspaces = get('/user/workspaces');

const inbox = { requests: askForInbox(), content: graphqlInbox };
const workspaces = { requests: askForWorkspaces, content: whole };
const editorAuth = { requests: get('/editor/auth'), content: whole };
const dismissal = { requests: dismissEach, content: dismissedNow };
const dismissedBefore = { requests: dismissEach, content: whole };

/** Everything that contenders do, by the name that `--only` takes. */
export const works: Readonly<Record<string, Work>> = {
  notifications: {
    title: '20 notifications by GraphQL',
    callers: ({ readers }) => readers,
    connections: 32,
    ends: 'by time',
    ways: {
      gateway: inbox,
      mercurius: { ...inbox, targets: { rate: 1.25 } },
      apollo: { ...inbox, targets: { rate: 4 } },
      'node-http': { requests: get('/inbox?first=20'), content: plainInbox, targets: { rate: 0.9 } },
    },
  },
  workspaces: {
    title: 'GET /user/workspaces, 100 of them',
    callers: ({ readers }) => readers,
    connections: 32,
    ends: 'by time',
    ways: { gateway: workspaces, fastify: { ...workspaces, targets: { rate: 1 } } },
  },
  'editor-auth': {
    title: 'GET /editor/auth',
    callers: ({ readers }) => readers,
    connections: 32,
    ends: 'by time',
    ways: { gateway: editorAuth, 'node-http': { ...editorAuth, targets: { rate: 0.7 } } },
  },
  dismiss: {
    title: 'POST /user/notifications/{id}/dismiss, of active ones',
    callers: ({ writers }) => writers,
    connections: 32,
    ends: 'when all is asked',
    ways: { gateway: dismissal, 'node-http': { ...dismissal, targets: { rate: 0.8 } } },
    prepare: restoreAll,
    effect: effectOfDismissal,
    verify: expectDismissed,
  },
  'dismiss-again': {
    title: 'POST /user/notifications/{id}/dismiss, of dismissed ones',
    callers: ({ writers }) => writers,
    connections: 32,
    ends: 'by time',
    ways: { gateway: dismissedBefore, 'node-http': dismissedBefore },
    prepare: dismissAll,
  },
  'large-list': {
    title: 'GET /user/workspaces, 10,000 of them',
    callers: ({ collectors }) => collectors,
    connections: LARGE_CALLERS,
    ends: 'when all is asked',
    ways: { gateway: workspaces, 'node-http': { ...workspaces, targets: { rate: 0.7 } } },
  },
  ...changeWorks,
};
