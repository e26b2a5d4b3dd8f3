import { initGraphQLTada, type ResultOf } from 'gql.tada';
import type { introspection } from './web-schema.ts';

/** Derives the types of every document's variables and result from the schema. */
const graphql = initGraphQLTada<{
  introspection: typeof introspection;
  scalars: { DateTime: string; JSON: unknown; Secret: string };
  disableMasking: true;
}>();

/** The fields that a card of the inbox shows. */
const Card = graphql(`
  fragment Card on Notification {
    __typename
    ... on UserNotification {
      ref
      id
      status
      title
      createdAt
      task {
        id
        name
      }
    }
    ... on PlanRequestedNotification {
      payload {
        summary
        plan
      }
    }
    ... on QuestionRequestedNotification {
      payload {
        questions {
          question
          options {
            label
          }
        }
      }
    }
    ... on TaskFailedNotification {
      payload {
        message
      }
    }
    ... on TaskResponseReadyNotification {
      payload {
        message
      }
    }
  }
`);
export type Card = ResultOf<typeof Card>;

export const Inbox = graphql(
  `
    query Inbox($first: Int!, $after: String) {
      notifications(first: $first, after: $after, filter: { statuses: [ACTIVE] }) {
        nodes {
          ...Card
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  `,
  [Card],
);

export const Counts = graphql(`
  query Counts {
    notificationCounts {
      ref
      total
      cursor
    }
  }
`);

export const Events = graphql(
  `
    subscription Events($after: String!) {
      notificationEvents(after: $after) {
        cursor
        counts {
          ref
          total
          cursor
        }
        notification {
          ...Card
        }
      }
    }
  `,
  [Card],
);

export const Dismiss = graphql(`
  mutation Dismiss($id: ID!) {
    dismissNotification(input: { id: $id }) {
      notification {
        __typename
        ... on UserNotification {
          ref
          id
          status
        }
      }
    }
  }
`);

export const Preferences = graphql(`
  query Preferences {
    notificationPreferences {
      ref
      notificationKind
      emailEnabled
      pushEnabled
      chatDmEnabled
    }
  }
`);

export const ChooseChannels = graphql(`
  mutation ChooseChannels($input: UpdateNotificationPreferencesInput!) {
    updateNotificationPreferences(input: $input) {
      preferences {
        ref
        notificationKind
        emailEnabled
        pushEnabled
        chatDmEnabled
      }
    }
  }
`);

export const Workspaces = graphql(`
  query Workspaces($first: Int!, $after: String) {
    workspaces(first: $first, after: $after) {
      nodes {
        ref
        id
        projectId
        status
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);
