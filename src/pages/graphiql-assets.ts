/*
 * Entry point of the process that prepares GraphiQL's files, sends them to its parent as `Prepared`, and exits. The
 * GraphiQL module contains 9 MB of strings and cannot be unloaded: in the gateway it would occupy about 40 MB, and half
 * of that if loaded in a worker thread.
 */
import * as graphiql from '@graphql-yoga/render-graphiql/graphiql';
import { readExamples } from './graphiql-examples.ts';
import { noticeStyle } from './graphiql-notice.ts';
import { renderBootScript, titleStyle } from './graphiql-page.ts';
import { type Assets, addAsset, type PageFiles } from './page.ts';

/** The files that the page loads, and all files by name. */
export type Prepared = { files: PageFiles; assets: Assets };

const assets: Assets = new Map();

const workers = {
  editorWorkerService: await addAsset(assets, 'editor-worker', 'js', graphiql.editorWorkerService),
  json: await addAsset(assets, 'json-worker', 'js', graphiql.jsonWorker),
  graphql: await addAsset(assets, 'graphql-worker', 'js', graphiql.graphqlWorker),
};
const boot = renderBootScript(workers, readExamples());
const icon = Buffer.from(graphiql.favicon.slice(graphiql.favicon.indexOf(',') + 1), 'base64');

const files: PageFiles = {
  boot: `graphql/assets/${await addAsset(assets, 'boot', 'js', boot)}`,
  script: `graphql/assets/${await addAsset(assets, 'graphiql', 'js', graphiql.js)}`,
  style: `graphql/assets/${await addAsset(assets, 'graphiql', 'css', graphiql.css + titleStyle + noticeStyle)}`,
  icon: `graphql/assets/${await addAsset(assets, 'icon', 'ico', icon)}`,
};

process.send?.({ files, assets } satisfies Prepared);
