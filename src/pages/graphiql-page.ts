import type { Example } from './graphiql-examples.ts';
import { noticeElement, noticeScript } from './graphiql-notice.ts';
import { linkStyle, type PageFiles, renderHtml } from './page.ts';

/** The names of the editor's worker scripts, relative to the URL of the boot script. */
export type WorkerFiles = { editorWorkerService: string; json: string; graphql: string };

// The editor accepts JSON with comments. The header is commented out because GraphiQL would send a placeholder with its
// introspection query, which would then be rejected.
const headersWithoutToken = `{
  // Uncomment the last line with your token. In development, this command prints one:
  // npm run -s token -- --sub alice --org acme
  // "Authorization": "Bearer <token>"
}`;

/** Keeps the title at its full width. If there are many tabs, they scroll instead. */
export const titleStyle = `
.graphiql-session-header > .graphiql-logo {
  flex-shrink: 0;
  white-space: nowrap;
}
`;

/**
 * Renders the HTML of GraphiQL.
 * @param token a JWT for the header editor, which needs no escaping: letters, digits, `-`, `_` and `.` (RFC 7515,
 *   section 7.1)
 */
export function renderPage({ script, style, icon, boot }: PageFiles, token: string | null): string {
  return renderHtml({
    title: 'GraphiQL',
    icon,
    style: linkStyle(style),
    scripts: [boot, script],
    body: `  <body class="no-focus-outline">
    <noscript>GraphiQL requires JavaScript.</noscript>
    <div id="root"${token === null ? '' : ` data-token="${token}"`}></div>
    ${noticeElement}
  </body>`,
  });
}

/**
 * Renders the script that starts GraphiQL. It runs before GraphiQL's own script, which reads MonacoEnvironment while it
 * loads. Without an `endpoint`, GraphiQL sends operations to the URL of the page.
 */
export function renderBootScript(workers: WorkerFiles, examples: readonly Example[]): string {
  const options = {
    defaultQuery: examples.find(({ name }) => name === 'inbox')?.query,
    defaultEditorToolsVisibility: 'headers',
    shouldPersistHeaders: false,
    // Subscriptions default to GET, which has query and variables in the URL.
    method: 'POST',
  };
  return `'use strict';
const base = document.currentScript.src;
const workers = ${JSON.stringify(workers)};
const examples = ${JSON.stringify(examples)};
const options = ${JSON.stringify(options)};
const headersWithoutToken = ${JSON.stringify(headersWithoutToken)};

self.MonacoEnvironment = {
  // Makes \`monaco\` global, with which the code below sets options of the editors.
  globalAPI: true,
  getWorkerUrl: (moduleId, label) => new URL(workers[label], base).href,
};

// By default, every edit is written to the page's URL, and from there to browser histories and logs.
options.onEditQuery = () => {};

addEventListener('DOMContentLoaded', () => {
  const root = document.querySelector('#root');
  const { token } = root.dataset;
  options.headers =
    token === undefined
      ? headersWithoutToken
      : JSON.stringify({ Authorization: 'Bearer ' + token }, null, 2);

  const requested = new URLSearchParams(location.search).get('example');
  const example = examples.find(({ name }) => name === requested);
  if (example !== undefined) {
    options.query = example.query;
    options.variables = example.variables;
    if (example.variables !== '') options.defaultEditorToolsVisibility = 'variables';
    // Reloading the page must not open the example again.
    history.replaceState(null, '', location.pathname);
  } else Object.assign(options, readOpenTab());

  // Operations wrap, because the examples have comments. Headers do not, so that a token takes one line.
  monaco.editor.onDidCreateEditor((editor) => {
    editor.onDidChangeModel(() => {
      const isOperation = editor.getModel()?.getLanguageId() === 'graphql';
      editor.updateOptions({ wordWrap: isOperation ? 'on' : 'off' });
    });
  });
  options.title = renderTitle();
  YogaGraphiQL.renderYogaGraphiQL(root, options);
});

/** The tab that was open before the page was reloaded. Without this, GraphiQL opens a new tab. */
function readOpenTab() {
  try {
    const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem('graphiql:tabState'));
    const { query, variables } = tabs[activeTabIndex];
    return { query: query ?? '', variables: variables ?? '' };
  } catch {
    return {};
  }
}
${noticeScript}
/** Renders the title with a menu that opens an example in a new tab. */
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
  return createElement(React.Fragment, null, 'Workspace account gateway ', menu);
}
`;
}
