/**
 * Entry of the short-lived process that prepares GraphiQL's files and sends them to its parent as one `Prepared`.
 * GraphiQL comes as nine megabytes of text in a module, and a module is never unloaded: in the gateway itself it would
 * hold some 40 MB for as long as that runs, and of a thread's memory half stays behind too.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import * as graphiql from '@graphql-yoga/render-graphiql/graphiql';
import { readExamples } from './graphiql-examples.ts';
import { type PageFiles, renderBootScript } from './graphiql-page.ts';

/** One file of the page, kept only as gzip. */
export type Asset = { type: string; gzip: Uint8Array };

/** What the page loads, and all files by name. */
export type Prepared = { files: PageFiles; assets: Map<string, Asset> };

const assets = new Map<string, Asset>();
const javascript = 'text/javascript; charset=utf-8';

/** Keeps a file under a name that changes with its content, so that it may be cached for good; returns the name. */
function add(stem: string, extension: string, type: string, content: string | Buffer): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const name = `${stem}-${hash}.${extension}`;
  assets.set(name, { type, gzip: gzipSync(content) });
  return name;
}

const workers = {
  editorWorkerService: add('editor-worker', 'js', javascript, graphiql.editorWorkerService),
  json: add('json-worker', 'js', javascript, graphiql.jsonWorker),
  graphql: add('graphql-worker', 'js', javascript, graphiql.graphqlWorker),
};
const boot = renderBootScript(workers, readExamples());
const icon = Buffer.from(graphiql.favicon.slice(graphiql.favicon.indexOf(',') + 1), 'base64');

const files: PageFiles = {
  boot: `graphql/assets/${add('boot', 'js', javascript, boot)}`,
  script: `graphql/assets/${add('graphiql', 'js', javascript, graphiql.js)}`,
  style: `graphql/assets/${add('graphiql', 'css', 'text/css; charset=utf-8', graphiql.css)}`,
  icon: `graphql/assets/${add('icon', 'ico', 'image/x-icon', icon)}`,
};

process.send?.({ files, assets } satisfies Prepared);
