import { linkStyle, type PageFiles, renderHtml } from './page.ts';

/** The HTML of the REST reference. */
export function renderPage({ script, style, icon, boot }: PageFiles): string {
  return renderHtml({
    title: 'REST reference',
    icon,
    style: linkStyle(style),
    scripts: [script, boot],
    body: `  <body>
    <noscript>The reference needs JavaScript. The document itself is <a href="openapi.json">openapi.json</a>.</noscript>
    <div id="root"></div>
  </body>`,
  });
}

/** The script that draws the reference. It runs when Swagger UI's own script has. */
export const bootScript = `'use strict';
const address = new URL('openapi.json', document.baseURI);

(async () => {
  const spec = await (await fetch(address)).json();
  // The page may be open at another address than the configured one, and may call its own alone.
  spec.servers = [{ url: new URL('.', address).href.replace(/\\/$/, '') }];
  spec.info.description += '\\n\\nThis page as a document: [openapi.json](' + address.href + ')';
  SwaggerUIBundle({
    spec,
    dom_id: '#root',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    showExtensions: true,
    // What is left undefined is asked of a service of Swagger's.
    validatorUrl: null,
  });
})();
`;
