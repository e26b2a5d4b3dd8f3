import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { entities } from '../../src/entities.ts';

/** One import: the importing file, the imported module, the names in braces, and whether only types are imported. */
type Import = { from: string; to: string; names: string[]; typeOnly: boolean };

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Returns the paths of all source files below a folder of the repository. */
function sourcesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

const readSource = (path: string) => readFileSync(join(root, path), 'utf8');

/** Returns every import and re-of a source file; paths of our own files are relative to the repository. */
function parseImports(path: string): Import[] {
  const statement = /^(?:import|export)\s+(?<what>[^'";]*?\bfrom\s+)?'(?<to>[^']+)'/gm;
  const dynamic = /\bimport\('(?<to>[^']+)'\)/g;
  const text = readSource(path);
  return [...text.matchAll(statement), ...text.matchAll(dynamic)].map(({ groups }) => {
    const { what = '', to = '' } = groups ?? {};
    const target = to.startsWith('.') ? join(dirname(path), to) : to;
    const [, braces = ''] = /\{([^}]*)\}/.exec(what) ?? [];
    const names = braces.split(',').flatMap((name) => name.trim() || []);
    return { from: path, to: target, names, typeOnly: isTypeOnly(what, names) };
  });
}

/** `import type …`, or braces in which every name is preceded by `type`. */
const isTypeOnly = (what: string, names: readonly string[]) =>
  what.startsWith('type ') || (what.startsWith('{') && names.every((name) => name.startsWith('type ')));

const sources = [...sourcesBelow('src'), ...sourcesBelow('rest')];
const imports = sources.flatMap(parseImports);
/** A folder that defines GraphQL fields is a feature. */
const features = [
  ...new Set(
    sources.filter((path) => path.endsWith('.graphql.ts')).map((path) => path.split('/').at(1) ?? ''),
  ),
];

const isOurs = ({ to }: Import) => to.startsWith('src/') || to.startsWith('rest/');
const describeImport = ({ from, to, typeOnly }: Import) =>
  `${from} imports ${typeOnly ? 'types of ' : ''}${to}`;

/** Returns the imports of the matching files that are not allowed. */
function forbidden(files: (path: string) => boolean, allowed: (one: Import) => boolean): string[] {
  return imports.filter((one) => files(one.from) && !allowed(one)).map(describeImport);
}

const isIn = (folder: string) => (path: string) => path.startsWith(folder);
const isEntity = (path: string) => path.endsWith('.entity.ts');
/** Closed lists of values, which every layer may import. */
const isEnums = (path: string) => path.endsWith('.enums.ts');
const isGraphQL = (path: string) => path.endsWith('.graphql.ts');
const isFeature = (path: string) => features.some((feature) => path.startsWith(`src/${feature}/`));

describe('rest/ and src/openapi/', () => {
  const isRest = (path: string) => isIn('rest/')(path) || isIn('src/openapi/')(path);

  test('import values only from some packages and modules of src/, and otherwise only types of src/', () => {
    const packages = /^(express|graphql|leven|zod|node:.*)$/;
    const files =
      /^(rest\/.*|src\/(openapi|errors|http)\/.*|src\/server\/caller\.ts|src\/graphql\/errors\.ts|src\/auth\/access\.ts|src\/values\/(constraints|cursor|text)\.ts|.*\.(enums|graphql)\.ts)$/;
    expect(
      forbidden(isRest, ({ to, typeOnly }) =>
        to.startsWith('src/') || to.startsWith('rest/') ? typeOnly || files.test(to) : packages.test(to),
      ),
    ).toEqual([]);
  });

  test('import nothing but enums and names of root fields from a feature, not even a type', () => {
    expect(
      forbidden(
        isRest,
        ({ to, names }) =>
          !isFeature(to) ||
          isEnums(to) ||
          (isGraphQL(to) && names.length > 0 && names.every((name) => name.endsWith('Field'))),
      ),
    ).toEqual([]);
  });

  test('are imported only by the composition root and the command that writes the OpenAPI document', () => {
    const importers = imports.filter(({ from, to }) => isRest(to) && !isRest(from));
    expect([...new Set(importers.map(({ from }) => from))]).toEqual([
      'src/commands/format-openapi.ts',
      'src/server/app.ts',
      'src/server/gateway.ts',
    ]);
  });
});

test('entities import only MikroORM, shared columns, enums and types', () => {
  const allowed = ['@mikro-orm/core', 'src/database/columns.ts'];
  expect(forbidden(isEntity, ({ to, typeOnly }) => typeOnly || isEnums(to) || allowed.includes(to))).toEqual(
    [],
  );
});

test('*.enums.ts files import nothing', () => {
  expect(forbidden(isEnums, () => false)).toEqual([]);
});

test('domain files import neither graphql, Express, rest/ nor *.graphql.ts files', () => {
  const isDomain = (path: string) => isFeature(path) && !isGraphQL(path);
  const isApi = (to: string) =>
    /^(graphql|graphql-.*|express|@pothos\/.*)$/.test(to) ||
    /^(rest|src\/graphql)\//.test(to) ||
    isGraphQL(to);
  expect(forbidden(isDomain, ({ to }) => !isApi(to))).toEqual([]);
});

test('*.graphql.ts files access the database only through their domain file', () => {
  const isDatabase = (to: string) => /^(@mikro-orm|kysely|pg)\b/.test(to) || to.startsWith('src/database/');
  expect(forbidden(isGraphQL, ({ to, typeOnly }) => typeOnly || (!isDatabase(to) && !isEntity(to)))).toEqual(
    [],
  );
});

test('statements name entities and properties, not tables and columns', () => {
  const toColumn = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const properties = entities.flatMap(({ meta }) => Object.keys(meta.properties));
  const names = [...properties.map(toColumn), ...entities.map(({ meta }) => meta.tableName)];
  const foreign = new RegExp(`\\b(${names.filter((name) => name.includes('_')).join('|')})\\b`);
  const statements = sources.filter((path) => !isEntity(path) && readSource(path).includes("from 'kysely'"));
  const withoutComments = (path: string) => readSource(path).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
  const used = statements.map((path) => [path, foreign.exec(withoutComments(path))?.[0]]);
  expect(used.filter(([, name]) => name !== undefined)).toEqual([]);
});

/** Files of src/server/ that know nothing of the APIs. */
const steps = [
  'caller',
  'connections',
  'listen',
  'malformed-requests',
  'monitoring',
  'request-log',
  'headers',
];

/** Ordered from the lowest layer up. A file imports only from its own layer and lower ones. */
const layers = [
  ['src/version.ts', 'src/errors/'],
  ['src/config.ts', 'src/config/', 'src/values/'],
  ['src/log.ts', 'src/repeat.ts', 'src/stop-signal.ts', 'src/encryption/', 'src/auth/', 'src/database/'],
  ['src/revisions/', 'src/platform-events/', 'src/quota/', 'src/http/'],
  ['src/live/', 'src/pages/'],
  ['src/context.ts', ...steps.map((name) => `src/server/${name}.ts`), 'src/metrics/'],
  ['src/graphql/'],
  features.filter((feature) => feature !== 'statistics').map((feature) => `src/${feature}/`),
  ['src/statistics/', 'src/agents/'],
  ['src/entities.ts', 'src/schema.ts', 'rest/'],
  ['src/openapi/'],
  ['src/services.ts', 'src/commands/'],
  ['src/server/'],
  ['src/main.ts', 'src/worker.ts'],
];

test('every file belongs to a layer, and the registry of entities is the only upward import', () => {
  const layer = (path: string) => layers.findIndex((names) => names.some((name) => path.startsWith(name)));
  expect(sources.filter((path) => layer(path) === -1)).toEqual([]);
  const upwards = imports.filter((one) => isOurs(one) && layer(one.to) > layer(one.from));
  expect(upwards.map(describeImport)).toEqual(['src/database/database.ts imports src/entities.ts']);
});

test('features depend on each other in one direction only', () => {
  const featureOf = (path: string) => features.find((feature) => path.startsWith(`src/${feature}/`)) ?? '';
  const edges = imports.map((one) => ({ ...one, from: featureOf(one.from), to: featureOf(one.to) }));
  const between = edges.filter(({ from, to }) => from !== '' && to !== '' && from !== to);
  expect(findCycles(between)).toEqual([]);
});

describe('access to the database (docs/data-access.md)', () => {
  const isOutside = (one: Import) => !isIn('src/database/')(one.from);
  const importersOf = (isImport: (one: Import) => boolean) =>
    new Set(imports.filter((one) => isOutside(one) && isImport(one)).map(({ from }) => from));
  // `batched-read.ts` only combines calls of reads.
  const prepared = importersOf(
    ({ to, names }) =>
      to.startsWith('src/database/') &&
      to !== 'src/database/batched-read.ts' &&
      names.some((name) =>
        /^(define\w+|runStatement|readRows|transaction|changeUsers?|readUsers)$/.test(name),
      ),
  );
  const managed = importersOf(
    ({ to, names }) =>
      to === '@mikro-orm/postgresql' || names.some((name) => /^(getKysely|userTransaction)$/.test(name)),
  );

  test('prepared statements are defined only for the specified operations, publishing, resolving and live events', () => {
    const folders = [...prepared].map((path) => path.split('/').slice(0, 2).join('/'));
    expect([...new Set(folders)].sort()).toEqual([
      'src/delivery',
      'src/editor-auth',
      'src/notifications',
      'src/platform-feed',
      'src/revisions',
      'src/workspaces',
    ]);
  });

  test('at most 35 prepared statements are defined', () => {
    const definition = /\bdefine(Statement|Variants|ListRead|PageRead|Counts)(<[^(]*>)?\(/g;
    const defined = sources
      .filter((path) => !/^src\/database\/(statement|read)\.ts$/.test(path))
      .flatMap((path) => readSource(path).match(definition) ?? []);
    expect(defined.length).toBeLessThanOrEqual(35);
  });

  test('a file uses either prepared statements or an entity manager', () => {
    expect([...managed]).toEqual(
      expect.arrayContaining(['src/users/users.ts', 'src/statistics/statistics.ts']),
    );
    expect([...managed].filter((path) => prepared.has(path))).toEqual([]);
  });

  test('the global entity manager and the Kysely of prepared statements are used only in src/database', () => {
    const usersOf = (pattern: RegExp) =>
      sources.filter((path) => !isIn('src/database/')(path) && pattern.test(readSource(path)));
    expect(usersOf(/(?<!-)\borm\b/)).toEqual(['src/commands/migration.ts']);
    expect(usersOf(/\bdatabase\.query\b/)).toEqual([]);
    expect(usersOf(/\.transaction\(\)|\.startTransaction\(\)/)).toEqual([]);
  });
});

test('a channel imports neither another channel nor the outbox or the sender', () => {
  const channels = ['chat', 'email', 'push'].map((name) => `src/delivery/${name}/`);
  const findChannel = (path: string) => channels.find((folder) => path.startsWith(folder));
  const shared = /^src\/delivery\/(channel|message|outcome|delivery\.enums|answers\/.*)\.ts$/;
  expect(
    forbidden(
      (path) => findChannel(path) !== undefined,
      ({ from, to }) =>
        !to.startsWith('src/delivery/') || findChannel(to) === findChannel(from) || shared.test(to),
    ),
  ).toEqual([]);
});

test('no other feature but the statistics imports src/delivery; changes reach it through the outbox', () => {
  const isOther = (path: string) => isFeature(path) && !/^src\/(delivery|statistics)\//.test(path);
  expect(forbidden(isOther, ({ to }) => !to.startsWith('src/delivery/'))).toEqual([]);
});

test("client programs import none of the gateway's code", () => {
  const programs = [...sourcesBelow('clients'), ...sourcesBelow('examples')].filter(
    (path) => !/\/(node_modules|dist)\//.test(path),
  );
  const known = programs.flatMap(parseImports).filter(({ to }) => /^(src|rest|test)\//.test(to));
  expect(known.map(describeImport)).toEqual([]);
});

test('src/metrics imports only types of our other files; only it, server/ and the composition root import prom-client', () => {
  const isMetrics = isIn('src/metrics/');
  expect(forbidden(isMetrics, (one) => one.typeOnly || !isOurs(one) || isMetrics(one.to))).toEqual([]);
  const mayUse = [
    'src/server/monitoring.ts',
    'src/server/process.ts',
    'src/server/worker.ts',
    'src/services.ts',
  ];
  const isOther = (path: string) => !isMetrics(path) && !mayUse.includes(path);
  expect(forbidden(isOther, ({ to }) => to !== 'prom-client')).toEqual([]);
});

test('GraphiQL, which takes 50 MB, is loaded only by its page, on demand', () => {
  const importers = imports.filter(({ to }) => to.startsWith('@graphql-yoga/render-graphiql'));
  expect(importers.map(({ from }) => from)).toEqual(['src/pages/graphiql.ts']);
  expect(readSource('src/pages/graphiql.ts')).toContain("await import('@graphql-yoga/render-graphiql/");
});

test('only the start of the database imports the embedded PostgreSQL, which imports little of src/', () => {
  const programs = sourcesBelow('dev/postgres').flatMap(parseImports);
  expect(imports.filter(({ to }) => to.startsWith('dev/')).map(({ from }) => from)).toEqual([
    'src/database/database-server.ts',
  ]);
  expect(readSource('src/database/database-server.ts')).toContain("await import('../../dev/postgres/");
  const allowed = /^(dev\/postgres\/.*|src\/errors\/.*|src\/database\/advisory-locks\.ts)$/;
  const others = programs.filter(
    ({ to, typeOnly }) => /^(src|rest|test|bench)\//.test(to) && !typeOnly && !allowed.test(to),
  );
  expect(others.map(describeImport)).toEqual([]);
});

test('only config.ts reads the environment', () => {
  expect(sources.filter((path) => readSource(path).includes('process.env'))).toEqual(['src/config.ts']);
});

test('there are no import cycles, type-only imports included', () => {
  const benches = sourcesBelow('bench').flatMap(parseImports);
  expect(imports.length).toBeGreaterThan(1000);
  expect(findCycles([...imports, ...benches])).toEqual([]);
});

test('no file but the composition root has a generic name such as utils or helpers', () => {
  const generic = ['utils', 'util', 'helpers', 'helper', 'common', 'services', 'service', 'shared', 'index'];
  expect(sources.filter((path) => generic.includes(basename(path).split('.', 1)[0] ?? ''))).toEqual([
    'src/services.ts',
  ]);
});

/** Returns the files that import themselves, directly or through other files. */
function findCycles(edges: readonly Import[]): string[] {
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
