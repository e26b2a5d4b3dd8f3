import { type PageFiles, renderHtml } from './page.ts';

/** Renders the HTML of the REST reference. */
export function renderPage({ script, style, icon, boot }: PageFiles): string {
  return renderHtml({
    title: 'REST reference',
    icon,
    style,
    scripts: [script, boot],
    body: `  <body>
    <noscript>This page requires JavaScript. The OpenAPI document is at <a href="openapi.json">openapi.json</a>.</noscript>
    <div id="root"></div>
  </body>`,
  });
}

/** The script that renders the reference. It runs after Swagger UI's own script. */
export const bootScript = `'use strict';
const address = new URL('openapi.json', document.baseURI);

(async () => {
  const spec = await (await fetch(address)).json();
  // The page can be open at another address than the configured one, and may call only its own origin.
  spec.servers = [{ url: new URL('.', address).href.replace(/\\/$/, '') }];
  spec.info.description += '\\n\\nThe OpenAPI document: [openapi.json](' + address.href + ')';
  SwaggerUIBundle({
    spec,
    dom_id: '#root',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    showExtensions: true,
    // If it is undefined, Swagger UI calls an external validator.
    validatorUrl: null,
  });
})();
`;
