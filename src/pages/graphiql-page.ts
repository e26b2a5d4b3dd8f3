import type { Example } from './graphiql-examples.ts';
import { noticeElement, noticeScript } from './graphiql-notice.ts';
import { linkStyle, type PageFiles, renderHtml } from './page.ts';

/** The names of the editors' worker scripts, each relative to the boot script's address. */
export type WorkerFiles = { editorWorkerService: string; json: string; graphql: string };

// The editor reads JSON with comments. The header stays commented out until there is a token: a placeholder would be
// sent as it stands, and the introspection behind the documentation would be refused along with it.
const headersWithoutToken = `{
  // With a token, take the slashes away. In development this prints one:
  // npm run -s token -- --sub alice --org acme
  // "Authorization": "Bearer <token>"
}`;

/** Keeps the title whole beside many tabs, which scroll. */
export const titleStyle = `
.graphiql-session-header > .graphiql-logo {
  flex-shrink: 0;
  white-space: nowrap;
}
`;

/**
 * The HTML of GraphiQL, with or without a token for its header editor.
 * @param token a JWT, which needs no escaping: it is letters, digits, `-`, `_` and `.` (RFC 7515, section 7.1)
 */
export function renderPage({ script, style, icon, boot }: PageFiles, token: string | null): string {
  return renderHtml({
    title: 'GraphiQL',
    icon,
    style: linkStyle(style),
    scripts: [boot, script],
    body: `  <body class="no-focus-outline">
    <noscript>GraphiQL needs JavaScript.</noscript>
    <div id="root"${token === null ? '' : ` data-token="${token}"`}></div>
    ${noticeElement}
  </body>`,
  });
}

/**
 * The script that starts GraphiQL in the page. It runs before GraphiQL's own script, which looks for MonacoEnvironment
 * while it loads, and draws when both have run. Without an `endpoint` GraphiQL asks the page's own address.
 */
export function renderBootScript(workers: WorkerFiles, examples: readonly Example[]): string {
  const options = {
    defaultQuery: examples.find(({ name }) => name === 'inbox')?.query,
    defaultEditorToolsVisibility: 'headers',
    shouldPersistHeaders: false,
    // Subscriptions too: by itself they go by GET, with the query and its variables in the address.
    method: 'POST',
  };
  return `'use strict';
const base = document.currentScript.src;
const workers = ${JSON.stringify(workers)};
const examples = ${JSON.stringify(examples)};
const options = ${JSON.stringify(options)};
const headersWithoutToken = ${JSON.stringify(headersWithoutToken)};

self.MonacoEnvironment = {
  // Makes \`monaco\` global, which sets options of the editors.
  globalAPI: true,
  getWorkerUrl: (moduleId, label) => new URL(workers[label], base).href,
};

// By itself every edit goes into the page's address, and from there into histories and logs.
options.onEditQuery = () => {};

addEventListener('DOMContentLoaded', () => {
  const root = document.querySelector('#root');
  const { token } = root.dataset;
  options.headers =
    token === undefined
      ? headersWithoutToken
      : JSON.stringify({ Authorization: 'Bearer ' + token }, null, 2);

  const asked = new URLSearchParams(location.search).get('example');
  const example = examples.find(({ name }) => name === asked);
  if (example !== undefined) {
    options.query = example.query;
    options.variables = example.variables;
    if (example.variables !== '') options.defaultEditorToolsVisibility = 'variables';
    // Loading the page again must not open the example once more.
    history.replaceState(null, '', location.pathname);
  }

  // Comments wrap; a token in the header editor does not.
  monaco.editor.onDidCreateEditor((editor) => {
    if (editor.getModel()?.getLanguageId() === 'graphql') editor.updateOptions({ wordWrap: 'on' });
  });
  options.title = renderTitle();
  YogaGraphiQL.renderYogaGraphiQL(root, options);
});

${noticeScript}
/** The page's name, and a menu that opens an example in a tab of its own. */
function renderTitle() {
  const { createElement } = React;
  const groups = Object.entries(Object.groupBy(examples, ({ group }) => group));
  const menu = createElement(
    'select',
    {
      'aria-label': 'Examples',
      value: '',
      style: { width: '7.5em', font: 'inherit', fontSize: '14px' },
      onChange: ({ target }) => {
        location.search = '?example=' + encodeURIComponent(target.value);
      },
    },
    createElement('option', { key: '', value: '', disabled: true }, 'Examples'),
    groups.map(([label, members]) =>
      createElement(
        'optgroup',
        { key: label, label },
        members.map(({ name }) => createElement('option', { key: name, value: name }, name)),
      ),
    ),
  );
  return createElement(React.Fragment, null, 'Account gateway ', menu);
}
`;
}
