import { describe, expect, test } from 'vitest';
import { type Import, importsOf, sourcesBelow, stemOf, textOf } from './support/imports.ts';

const sources = [...sourcesBelow('src'), ...sourcesBelow('rest')];
const imports = sources.flatMap(importsOf);
const features = ['notifications', 'preferences', 'editor-auth', 'workspaces', 'statistics', 'revisions'];

const isOurs = ({ to }: Import) => to.startsWith('src/') || to.startsWith('rest/');
const told = ({ from, to, typeOnly }: Import) => `${from} imports ${typeOnly ? 'types of ' : ''}${to}`;

/** The imports of some files that nothing allows. */
function forbidden(files: (path: string) => boolean, allowed: (one: Import) => boolean): string[] {
  return imports.filter((one) => files(one.from) && !allowed(one)).map(told);
}

const isOf = (folder: string) => (path: string) => path.startsWith(folder);
const isEntity = (path: string) => path.endsWith('.entity.ts');
const isGraphQL = (path: string) => path.endsWith('.graphql.ts');
const isFeature = (path: string) => features.some((feature) => path.startsWith(`src/${feature}/`));

test('the imports of every kind are seen', () => {
  expect(sources.length).toBeGreaterThan(60);
  expect(importsOf('src/main.ts')).toContainEqual({
    from: 'src/main.ts',
    to: 'src/server.ts',
    typeOnly: false,
  });
  expect(importsOf('src/schema.ts').filter(({ to }) => isGraphQL(to)).length).toBeGreaterThan(5);
  expect(importsOf('src/notifications/notification.entity.ts')).toContainEqual({
    from: 'src/notifications/notification.entity.ts',
    to: 'src/notifications/payload.ts',
    typeOnly: true,
  });
});

describe('rest/', () => {
  test('knows express, graphql, zod, Node, errors, issues and http; of the rest of src only types', () => {
    const packages = /^(express|graphql|zod|node:.*)$/;
    const files = /^(rest\/.*|src\/errors\.ts|src\/issues\.ts|src\/error-items\.ts|src\/http\/.*)$/;
    expect(
      forbidden(isOf('rest/'), ({ to, typeOnly }) =>
        to.startsWith('src/') || to.startsWith('rest/') ? typeOnly || files.test(to) : packages.test(to),
      ),
    ).toEqual([]);
  });

  test('knows no entity and no domain function, not even their types', () => {
    expect(forbidden(isOf('rest/'), ({ to }) => !isEntity(to) && !isFeature(to))).toEqual([]);
  });

  test('is imported by the composition root, and by the command that writes its document, alone', () => {
    const importers = imports.filter(({ from, to }) => isOf('rest/')(to) && isOf('src/')(from));
    expect([...new Set(importers.map(({ from }) => from))]).toEqual([
      'src/app.ts',
      'src/commands/openapi.ts',
      'src/server.ts',
    ]);
  });
});

test('an entity imports MikroORM, the shared columns, the kinds and types, nothing else', () => {
  const allowed = ['@mikro-orm/core', 'src/database/columns.ts', 'src/notifications/notification-kind.ts'];
  expect(forbidden(isEntity, ({ to, typeOnly }) => typeOnly || allowed.includes(to))).toEqual([]);
});

test('a domain file knows no face: neither graphql nor express, rest/ or a *.graphql.ts', () => {
  const isDomain = (path: string) => isFeature(path) && !isGraphQL(path);
  const isFace = (to: string) =>
    /^(graphql|graphql-.*|express|@pothos\/.*)$/.test(to) ||
    /^(rest|src\/graphql)\//.test(to) ||
    isGraphQL(to);
  expect(forbidden(isDomain, ({ to }) => !isFace(to))).toEqual([]);
});

test('a *.graphql.ts reaches the database through its domain file alone', () => {
  const isDatabase = (to: string) => /^(@mikro-orm|kysely|pg)\b/.test(to) || to.startsWith('src/database/');
  expect(forbidden(isGraphQL, ({ to, typeOnly }) => typeOnly || (!isDatabase(to) && !isEntity(to)))).toEqual(
    [],
  );
});

test('src/graphql knows no feature, but for the list of them in schema.ts', () => {
  const isEngine = (path: string) => path.startsWith('src/graphql/') && path !== 'src/schema.ts';
  expect(forbidden(isEngine, ({ to }) => !isFeature(to))).toEqual([]);
});

test.each([
  'src/errors/gateway-errors.ts',
  'src/values/text.ts',
  'src/config.ts',
  'src/notifications/notification-kind.ts',
])('%s imports none of our files', (path) => {
  expect(
    forbidden(
      (from) => from === path,
      (one) => !isOurs(one) || one.typeOnly,
    ),
  ).toEqual([]);
});

test('features depend on each other one way', () => {
  const of = (path: string) => features.find((feature) => path.startsWith(`src/${feature}/`));
  const edges = imports.filter(({ from, to }) => of(from) && of(to) && of(from) !== of(to));
  expect([...new Set(edges.map(({ from, to }) => `${of(from)} -> ${of(to)}`))].sort()).toEqual([
    'editor-auth -> revisions',
    'notifications -> preferences',
    'notifications -> revisions',
    'preferences -> revisions',
    'statistics -> editor-auth',
    'statistics -> notifications',
    'statistics -> workspaces',
    'workspaces -> revisions',
  ]);
});

test("a customer's program knows nothing of the gateway's code", () => {
  const programs = sourcesBelow('test/clients').filter((path) => !path.includes('node_modules'));
  expect(programs.length).toBeGreaterThan(0);
  const known = programs.flatMap(importsOf).filter(({ to }) => /^(src|rest|test\/(?!clients\/))/.test(to));
  expect(known.map(told)).toEqual([]);
});

test('src/metrics knows of our files only errors, and types; it alone and the composition root know prom-client', () => {
  const isMetrics = isOf('src/metrics/');
  const allowed = ({ to, typeOnly }: Import) =>
    typeOnly || !isOurs({ from: '', to, typeOnly }) || isMetrics(to) || to === 'src/errors/gateway-errors.ts';
  expect(forbidden(isMetrics, allowed)).toEqual([]);
  const isOther = (path: string) => !isMetrics(path) && !['src/app.ts', 'src/server.ts'].includes(path);
  expect(forbidden(isOther, ({ to }) => to !== 'prom-client')).toEqual([]);
});

test("GraphiQL and the examples are loaded by the process that prepares them, not by the gateway's", () => {
  const isPrepared = (to: string) =>
    to.startsWith('@graphql-yoga/render-graphiql') || to === 'src/pages/graphiql-examples.ts';
  const importers = imports.filter(({ to, typeOnly }) => !typeOnly && isPrepared(to)).map(({ from }) => from);
  expect(importers).toEqual(['src/pages/graphiql-assets.ts', 'src/pages/graphiql-assets.ts']);
  expect(imports.filter((one) => !one.typeOnly && one.to === 'src/pages/graphiql-assets.ts')).toEqual([]);
});

test('only config.ts reads the environment', () => {
  expect(sources.filter((path) => textOf(path).includes('process.env'))).toEqual(['src/config.ts']);
});

test('no import goes in a circle', () => {
  expect(circles(imports.filter((one) => !one.typeOnly))).toEqual([]);
});

test('in bench/ no import is circular, not even of types', () => {
  const benches = sourcesBelow('bench').flatMap(importsOf);
  expect(benches.length).toBeGreaterThan(50);
  expect(circles(benches)).toEqual([]);
});

test('no file has a name that says nothing', () => {
  const empty = ['utils', 'util', 'helpers', 'helper', 'common', 'services', 'service', 'shared', 'index'];
  expect(sources.filter((path) => empty.includes(stemOf(path)))).toEqual([]);
});

/** The files that can be reached from themselves. */
function circles(edges: readonly Import[]): string[] {
  const next = Map.groupBy(edges, ({ from }) => from);
  return [...next.keys()].filter((start) => {
    const reached = new Set<string>();
    const waiting = [start];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      for (const { to } of next.get(path) ?? []) {
        if (to === start) return true;
        if (reached.has(to)) continue;
        reached.add(to);
        waiting.push(to);
      }
    }
    return false;
  });
}
