import { linkStyle, type PageFiles, renderHtml } from './page.ts';
import { tokenPathAttribute, tokenScript } from './token-script.ts';

/** Renders the HTML of the REST reference. If the page can get a token, it names the path at which it does. */
export function renderPage({ script, style, icon, boot }: PageFiles, grantsTokens: boolean): string {
  return renderHtml({
    title: 'REST reference',
    icon,
    style: linkStyle(style),
    scripts: [script, boot],
    body: `  <body>
    <noscript>This page requires JavaScript. The OpenAPI document is at <a href="openapi.json">openapi.json</a>.</noscript>
    <div id="root"${tokenPathAttribute(grantsTokens)}></div>
  </body>`,
  });
}

/** Makes texts of Swagger UI readable that have little contrast, mostly in its light theme. */
export const referenceStyle = `
.swagger-ui .opblock .opblock-summary-method {
  color: #1c2022;
  text-shadow: none;
}
html:not(.dark-mode) .swagger-ui a:not(.nostyle) {
  color: #0b5cad;
}
html:not(.dark-mode) .swagger-ui .btn.authorize span {
  color: #12734a;
}
html:not(.dark-mode) .swagger-ui .parameter__in {
  color: #595959;
}
html:not(.dark-mode) .swagger-ui .info .title small {
  background: #4f5663;
}
html:not(.dark-mode) .swagger-ui .info .title small.version-stamp {
  background: #4c6b02;
}
html.dark-mode .swagger-ui td.header-col {
  color: #e4e6e6;
}
`;

/** The script that starts Swagger UI. It runs after Swagger UI's own script. */
export const bootScript = `'use strict';
const address = new URL('openapi.json', document.baseURI);
const methods = ['get', 'post', 'put', 'patch', 'delete'];

followTheme(matchMedia('(prefers-color-scheme: dark)'));
start();

async function start() {
  const [spec, { token, key }] = await Promise.all([readSpec(), requestToken()]);
  // The operations come first, and the rules that they share below them.
  const [introduction, ...rules] = spec.info.description.split('\\n\\n');
  const notes = [introduction, 'The OpenAPI document: [openapi.json](' + address.href + ')'];
  if (token !== undefined) notes.push('Requests are sent with a token for the user \`alice\`, valid for an hour.');
  else if (key !== 'off')
    notes.push('To send requests with a token, open the URL of this page that the gateway printed when it started.');
  spec.info.description = notes.join('\\n\\n');
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#root',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    showExtensions: true,
    operationsSorter: (a, b) => methods.indexOf(a.get('method')) - methods.indexOf(b.get('method')),
    // The default is a service of swagger.io.
    validatorUrl: null,
    plugins: [addRules(rules.join('\\n\\n'))],
    onComplete: () => {
      if (token !== undefined) ui.preauthorizeApiKey('bearer', token);
    },
  });
}

async function readSpec() {
  const spec = await (await fetch(address)).json();
  // The content security policy allows requests to the page's own origin only, which may differ from PUBLIC_URL.
  spec.servers = [{ url: new URL('.', address).href.replace(/\\/$/, '') }];
  for (const operation of Object.values(spec.paths).flatMap((path) => Object.values(path)))
    if (operation['x-extension']) operation.summary += ' (extension)';
  return spec;
}

/** Adds a text in Markdown below the operations. */
function addRules(source) {
  return ({ React: { createElement } }) => ({
    wrapComponents: {
      BaseLayout: (Layout) => (props) => {
        const Markdown = props.getComponent('Markdown', true);
        const title = createElement('h2', null, 'Rules of every operation');
        const rules = createElement('section', { className: 'wrapper' }, title, createElement(Markdown, { source }));
        return createElement('div', { className: 'swagger-ui' }, createElement(Layout, props), rules);
      },
    },
  });
}

/** Swagger UI has a dark theme, which a class turns on. */
function followTheme(dark) {
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}
${tokenScript}`;
