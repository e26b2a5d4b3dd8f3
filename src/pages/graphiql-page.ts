import type { Example } from './graphiql-examples.ts';
import { noticeElement, noticeScript } from './graphiql-notice.ts';
import { linkStyle, type PageFiles, renderHtml } from './page.ts';
import { tokenPathAttribute, tokenScript } from './token-script.ts';

/** The names of the editor's worker scripts, relative to the URL of the boot script. */
export type WorkerFiles = { editorWorkerService: string; json: string; graphql: string };

/**
 * Describes in the header editor how to get a token. The editor accepts JSON with comments. The header is commented out
 * because GraphiQL would send a placeholder with its introspection query, which would then be rejected.
 */
function describeHeaders(...hints: string[]): string {
  const comments = [
    ...hints,
    'To paste a token, uncomment the last line.',
    'In development, this command prints one:',
    'npm run -s token -- --sub alice --org acme',
    '"Authorization": "Bearer <token>"',
  ];
  return ['{', ...comments.map((line) => `  // ${line}`), '}'].join('\n');
}

/** The content of the header editor without a token, by the state of the page's key. */
const headersWithoutToken = {
  off: describeHeaders(),
  missing: describeHeaders(
    'To get a token, open the URL of GraphiQL that',
    'the gateway printed when it started.',
  ),
  invalid: describeHeaders(
    'The key is invalid: the gateway has restarted.',
    'Open the URL of GraphiQL that it printed.',
  ),
};

/**
 * Keeps the title at its full width: if there are many tabs, they scroll instead. The colors of the menu are those of
 * GraphiQL's theme, which the user can choose.
 */
export const titleStyle = `
.graphiql-session-header > .graphiql-logo {
  flex-shrink: 0;
  white-space: nowrap;
}
.graphiql-logo select {
  width: 7.5em;
  padding: 2px 4px;
  border: 1px solid hsla(var(--color-neutral), var(--alpha-tertiary));
  border-radius: var(--border-radius-4);
  background: hsl(var(--color-base));
  color: hsl(var(--color-neutral));
  font: inherit;
  font-size: 14px;
}
`;

/** Renders the HTML of GraphiQL. If the page can get a token, it names the path at which it does. */
export function renderPage({ script, style, icon, boot }: PageFiles, grantsTokens: boolean): string {
  return renderHtml({
    title: 'GraphiQL',
    icon,
    style: linkStyle(style),
    scripts: [boot, script],
    body: `  <body class="no-focus-outline">
    <noscript>GraphiQL requires JavaScript.</noscript>
    <div id="root"${tokenPathAttribute(grantsTokens)}></div>
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

const grant = requestToken();

addEventListener('DOMContentLoaded', async () => {
  const root = document.querySelector('#root');
  const { token, key } = await grant;
  options.headers =
    token === undefined
      ? headersWithoutToken[key]
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
${tokenScript}${noticeScript}
/** Renders the title with a menu that opens an example in a new tab. */
function renderTitle() {
  const { createElement } = React;
  const groups = Object.entries(Object.groupBy(examples, ({ group }) => group));
  const menu = createElement(
    'select',
    {
      'aria-label': 'Examples',
      value: '',
      onChange: ({ target }) => {
        location.search = '?example=' + encodeURIComponent(target.value);
      },
    },
    createElement('option', { key: '', value: '', disabled: true }, 'Examples'),
    groups.map(([label, members]) =>
      createElement(
        'optgroup',
        { key: label, label },
        members.map(({ name, title }) => createElement('option', { key: name, value: name }, title)),
      ),
    ),
  );
  return createElement(React.Fragment, null, 'Workspace account gateway ', menu);
}
`;
}
