import { readExamples } from './graphiql-examples.ts';
import { tokenScript } from './token-script.ts';

/**
 * Keeps the title and the menu of examples at their widths: if there are many tabs, those scroll instead. A narrow window has
 * the menu only.
 */
export const menuStyle = `
.graphiql-session-header > .graphiql-logo { flex-shrink: 0; white-space: nowrap; }
.graphiql-logo select { width: 7.5em; font: inherit; font-size: 14px; }
@media (max-width: 640px) { .graphiql-session-header > .graphiql-logo { font-size: 0; } }
`;

/**
 * The header editor without a token. It accepts JSON with comments. The header is a comment because GraphiQL would send a
 * placeholder with its introspection query, which would then be rejected.
 */
const headersWithoutToken = `{
  // To get a token, open the URL of GraphiQL that the
  // gateway printed when it started in development, or
  // paste one: npm run -s token -- --sub alice --org acme
  // "Authorization": "Bearer <token>"
}`;

/**
 * Renders the script that starts GraphiQL. It runs before GraphiQL's own script, which reads MonacoEnvironment while it
 * loads. Without an `endpoint`, GraphiQL sends operations to the URL of the page. `workers` are the names of the editor's
 * scripts, relative to this one.
 */
export function renderBootScript(workers: Readonly<Record<string, string>>): string {
  const examples = readExamples();
  const options = {
    defaultQuery: examples.find(({ name }) => name === 'inbox')?.query,
    defaultEditorToolsVisibility: 'headers',
    headers: headersWithoutToken,
    shouldPersistHeaders: false,
    // Subscriptions default to GET, which has query and variables in the URL.
    method: 'POST',
  };
  return `'use strict';
const base = document.currentScript.src;
const workers = ${JSON.stringify(workers)};
const examples = ${JSON.stringify(examples)};
const options = ${JSON.stringify(options)};

self.MonacoEnvironment = { getWorkerUrl: (moduleId, label) => new URL(workers[label], base).href };

// By default, every edit is written to the page's URL, and from there to browser histories and logs.
options.onEditQuery = () => {};

addEventListener('DOMContentLoaded', async () => {
  const token = await requestToken();
  if (token !== undefined) options.headers = JSON.stringify({ Authorization: 'Bearer ' + token }, null, 2);
  const requested = new URLSearchParams(location.search).get('example');
  const example = examples.find(({ name }) => name === requested);
  const opened = example ?? readOpenTab();
  if (opened !== undefined) Object.assign(options, { query: opened.query, variables: opened.variables });
  if (example?.variables) options.defaultEditorToolsVisibility = 'variables';
  // Reloading the page must not open the example again.
  if (example !== undefined) history.replaceState(null, '', location.pathname);
  options.title = renderTitle();
  YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), options);
});

/** The tab that was open before the page was reloaded. Without this, GraphiQL opens a new tab. */
function readOpenTab() {
  const { tabs = [], activeTabIndex } = JSON.parse(localStorage.getItem('graphiql:tabState') ?? '{}');
  const tab = tabs[activeTabIndex];
  return tab && { query: tab.query ?? '', variables: tab.variables ?? '' };
}

/** Renders the title with a menu that opens an example in a new tab. */
function renderTitle() {
  const { createElement } = React;
  const groups = Object.entries(Object.groupBy(examples, ({ group }) => group));
  const toOption = ({ name, title }) => createElement('option', { key: name, value: name }, title);
  const menu = createElement(
    'select',
    {
      'aria-label': 'Examples',
      value: '',
      // GraphiQL stores tabs half a second after a change; loading the page earlier would lose them.
      onChange: ({ target }) => {
        const search = '?example=' + encodeURIComponent(target.value);
        setTimeout(() => location.assign(search), 500);
      },
    },
    createElement('option', { value: '', disabled: true }, 'Examples'),
    ...groups.map(([label, members]) => createElement('optgroup', { label }, ...members.map(toOption))),
  );
  return createElement(React.Fragment, null, 'Workspace account gateway ', menu);
}
${tokenScript}`;
}
