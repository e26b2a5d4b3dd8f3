import { readFile } from 'node:fs/promises';
import type { Request, Response } from 'express';
import { lazy } from '../values/lazy.ts';
import { type Assets, type AssetType, addAsset, sendAsset, sendPage } from './page.ts';
import { bootScript, referenceStyle, renderPage } from './reference-page.ts';

/** The page, and its files by name. */
type Docs = { page: string; assets: Assets };

type Handler = (request: Request, response: Response, next: () => void) => Promise<void>;

/** The paths of the page and its files. */
export const REFERENCE_PATHS = /^\/docs(?:\/assets\/[^/]+)?$/;

/**
 * Serves the REST reference: Swagger UI with `openapi.json`, without a CDN. The files are read at the first request;
 * they occupy about 2.5 MB.
 */
export function serveReference(grantsTokens: boolean): Handler {
  const open = lazy(() => prepare(grantsTokens));
  return async (request, response, next) => {
    const { page, assets } = await open();
    const [, name] = request.path.split('/assets/');
    const asset = assets.get(name ?? '');
    if (name === undefined) sendPage(response, page, 'no-cache');
    else if (asset === undefined) next();
    else sendAsset(request, response, asset);
  };
}

async function prepare(grantsTokens: boolean): Promise<Docs> {
  const assets: Assets = new Map();
  const add = async (stem: string, extension: AssetType, content: string | Buffer) =>
    `docs/assets/${await addAsset(assets, stem, extension, content)}`;
  const style = await read(import.meta.resolve('swagger-ui-dist/swagger-ui.css'));
  const files = {
    script: await add(
      'swagger-ui',
      'js',
      await read(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
    ),
    style: await add('swagger-ui', 'css', style + referenceStyle),
    icon: await add('icon', 'png', await read(import.meta.resolve('swagger-ui-dist/favicon-32x32.png'))),
    boot: await add('boot', 'js', bootScript),
  };
  return { page: renderPage(files, grantsTokens), assets };
}

function read(url: string): Promise<Buffer> {
  return readFile(new URL(url));
}
