/** The names, below the page's own address, of the files that the page loads. */
export type PageFiles = { script: string; style: string; icon: string; boot: string };

/** The names of the editors' worker scripts, each relative to the boot script's address. */
export type WorkerFiles = { editorWorkerService: string; json: string; graphql: string };

/** What the query editor shows at first; it must stay valid against the schema. */
export const exampleQuery = `# Who is asking? In development this prints a token:
#
#   npm run -s token -- --sub alice --org acme
#
# It goes into the Headers tab below. Without a token the
# documentation at the left can be read, nothing else.

query Inbox {
  notifications(first: 10) {
    totalCount
    edges {
      node {
        __typename
        ... on UserNotification {
          id
          status
          title
          occurredAt
          task {
            id
            projectId
            name
          }
        }
        ... on PlanRequestedNotification {
          plan: payload {
            summary
            plan
          }
        }
        ... on QuestionRequestedNotification {
          question: payload {
            input
          }
        }
        ... on TaskFailedNotification {
          failed: payload {
            message
          }
        }
        ... on TaskResponseReadyNotification {
          ready: payload {
            message
          }
        }
      }
    }
  }
  workspaces(first: 10) {
    edges {
      node {
        id
        projectId
        status
      }
    }
  }
}
`;

// The editor reads JSON with comments. The header stays commented out until there is a token: a placeholder would be
// sent as it stands, and the introspection behind the documentation would be refused along with it.
const exampleHeaders = `{
  // With a token, take the slashes away:
  // "Authorization": "Bearer <token>"
}`;

/** The page's HTML. It has no inline script, and all its addresses are relative, so that a proxy may add a prefix. */
export function renderPage(files: PageFiles): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Account gateway: GraphiQL</title>
    <link rel="icon" href="${files.icon}">
    <link rel="stylesheet" href="${files.style}">
    <script src="${files.boot}" defer></script>
    <script src="${files.script}" defer></script>
  </head>
  <body class="no-focus-outline">
    <noscript>GraphiQL needs JavaScript.</noscript>
    <div id="root"></div>
  </body>
</html>
`;
}

/**
 * The script that starts GraphiQL in the page. It runs before GraphiQL's own script, which looks for MonacoEnvironment
 * while it loads, and draws when both have run. Without an `endpoint` GraphiQL asks the page's own address.
 */
export function renderBootScript(workers: WorkerFiles): string {
  const options = {
    title: 'Account gateway',
    defaultQuery: exampleQuery,
    headers: exampleHeaders,
    defaultEditorToolsVisibility: 'headers',
    shouldPersistHeaders: false,
    // Subscriptions too: by itself they go by GET, with the query and its variables in the address.
    method: 'POST',
  };
  return `'use strict';
const base = document.currentScript.src;
const workers = ${JSON.stringify(workers)};
const options = ${JSON.stringify(options)};

self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (moduleId, label) => new URL(workers[label], base).href,
};

// By itself every edit goes into the page's address, and from there into histories and logs.
options.onEditQuery = () => {};

addEventListener('DOMContentLoaded', () => {
  YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), options);
});
`;
}
