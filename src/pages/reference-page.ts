import { linkStyle, type PageFiles, renderHtml } from './page.ts';

/** Renders the HTML of the REST reference. */
export function renderPage({ script, style, icon, boot }: PageFiles): string {
  return renderHtml({
    title: 'REST reference',
    icon,
    style: linkStyle(style),
    scripts: [script, boot],
    body: `  <body>
    <noscript>This page requires JavaScript. The OpenAPI document is at <a href="openapi.json">openapi.json</a>.</noscript>
    <div id="root"></div>
  </body>`,
  });
}

/** The script that starts Swagger UI. It runs after Swagger UI's own script. */
export const bootScript = `'use strict';
const address = new URL('openapi.json', document.baseURI);

(async () => {
  const spec = await (await fetch(address)).json();
  // The content security policy allows requests to the page's own origin only, which may differ from PUBLIC_URL.
  spec.servers = [{ url: new URL('.', address).href.replace(/\\/$/, '') }];
  spec.info.description += '\\n\\nThe OpenAPI document: [openapi.json](' + address.href + ')';
  SwaggerUIBundle({
    spec,
    dom_id: '#root',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    showExtensions: true,
    // The default is a service of swagger.io.
    validatorUrl: null,
  });
})();
`;
