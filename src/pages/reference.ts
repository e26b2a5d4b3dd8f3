import { readFile } from 'node:fs/promises';
import type { RequestHandler } from 'express';
import { version } from '../version.ts';
import { type Assets, addAsset, type Page, renderHtml, servePage } from './page.ts';
import { renderRoot, tokenScript } from './token-script.ts';

/** Serves the REST reference: Swagger UI with `openapi.json`, without a CDN. Its files occupy about 2.5 MB. */
export function serveReference(grantsTokens: boolean): RequestHandler {
  return servePage(() => prepare(grantsTokens));
}

/** Swagger's own package of these files, `swagger-ui-dist`, depends on one that reports its installation. */
function readStatic(file: string): Promise<Buffer> {
  return readFile(new URL(`static/${file}`, import.meta.resolve('@fastify/swagger-ui')));
}

async function prepare(grantsTokens: boolean): Promise<Page> {
  const assets: Assets = new Map();
  const style = await addAsset(assets, 'swagger-ui', 'css', await readStatic('swagger-ui.css'));
  const icon = await addAsset(assets, 'icon', 'png', await readStatic('favicon-32x32.png'));
  const script = await addAsset(assets, 'swagger-ui', 'js', await readStatic('swagger-ui-bundle.js'));
  const boot = await addAsset(assets, 'boot', 'js', bootScript);
  const head = `<link rel="icon" href="docs/assets/${icon}">
    <link rel="stylesheet" href="docs/assets/${style}">
    <script src="docs/assets/${script}" defer></script>
    <script src="docs/assets/${boot}" defer></script>`;
  const noscript =
    'This page requires JavaScript. The OpenAPI document is at <a href="openapi.json">openapi.json</a>.';
  const body = `<noscript>${noscript}</noscript>
    ${renderRoot(grantsTokens)}`;
  return { html: renderHtml('REST reference', head, body), assets };
}

/** The script that starts Swagger UI. It runs after Swagger UI's own script. */
const bootScript = `'use strict';
const dark = matchMedia('(prefers-color-scheme: dark)');
const applyTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', applyTheme);
applyTheme();
start();

async function start() {
  const address = new URL('openapi.json', document.baseURI);
  const [reply, token] = await Promise.all([fetch(address), requestToken()]);
  const spec = await reply.json();
  spec.info.version += ' (gateway ${version})';
  // The content security policy allows requests to the page's own origin only, which may differ from PUBLIC_URL.
  spec.servers = [{ url: new URL('.', address).href.replace(/\\/$/, '') }];
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#root',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    showExtensions: true,
    // The default is a service of swagger.io.
    validatorUrl: null,
    onComplete: () => {
      if (token !== undefined) ui.preauthorizeApiKey('bearer', token);
    },
  });
}
${tokenScript}`;
