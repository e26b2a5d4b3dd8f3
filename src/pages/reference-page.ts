/** The names, below the page's own address, of the files that the page loads. */
type PageFiles = { script: string; style: string; icon: string; boot: string };

/** The page's HTML. It has no inline script, and all its addresses are relative, so that a proxy may add a prefix. */
export function renderPage(files: PageFiles): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Account gateway: REST reference</title>
    <link rel="icon" href="${files.icon}">
    <link rel="stylesheet" href="${files.style}">
    <script src="${files.script}" defer></script>
    <script src="${files.boot}" defer></script>
  </head>
  <body>
    <noscript>The reference needs JavaScript. The document itself is <a href="openapi.json">openapi.json</a>.</noscript>
    <div id="root"></div>
  </body>
</html>
`;
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
