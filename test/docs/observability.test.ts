import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { deliveryFailureReasons } from '../../src/delivery/delivery.enums.ts';
import { httpStatus } from '../../src/errors/gateway-errors.ts';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { graphql, rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { readPage, tableBelow } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { startIssuer } from '../support/issuer.ts';
import { scrape } from '../support/metrics.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { asPlatform, publish } from '../support/records.ts';
import { freePort } from '../support/redis.ts';
import { updateStatistics } from '../support/statistics.ts';
import { jwks, member } from '../support/tokens.ts';

/** Labels that Prometheus adds to every scraped metric. */
const ADDED = ['job', 'instance'];

const readRepositoryFile = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

const Dashboard = z.object({
  uid: z.string(),
  title: z.string(),
  templating: z.object({ list: z.array(z.looseObject({ name: z.string() })) }),
  panels: z.array(
    z.looseObject({
      id: z.number(),
      type: z.enum(['row', 'timeseries', 'stat']),
      title: z.string().min(1),
      gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
      targets: z.array(z.looseObject({ expr: z.string().min(1), legendFormat: z.string() })).default([]),
      fieldConfig: z.object({ defaults: z.looseObject({ unit: z.string().min(1) }) }).optional(),
    }),
  ),
});

let database: TestDatabase;
let chat: ChatApi;
let gateway: GatewayProcess;
/** The labels of every metric by its name in samples. */
let labelsByMetric: ReadonlyMap<string, ReadonlySet<string>>;
let names: readonly string[];
beforeAll(async () => {
  database = await createTestDatabase();
  const issuer = await startIssuer();
  issuer.respondWith(JSON.stringify(jwks));
  const { AUTH_JWKS: _local, ...settings } = settingsFor(database);
  chat = await startChatApi();
  gateway = await startGatewayProcess({
    ...settings,
    AUTH_JWKS_URL: issuer.url,
    CHAT_TOKEN: chat.token,
    CHAT_API_URL: chat.url,
    REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
  });
  await updateStatistics(database);
  const token = await member('alice');
  await rest(gateway, 'GET', '/user/workspaces', { token });
  await graphql(gateway, '{ notification(id: "unknown") { __typename } }', {}, { token });
  await asPlatform(
    gateway,
    'mutation { putContact(input: { userId: "alice", chatMemberId: "U012AB3CD" }) { __typename } }',
  );
  const stream = await subscribeToNotifications(gateway, 'alice');
  await publish(gateway, 'alice');
  await nextEvent(stream);
  stream.close();
  const { samples, types } = await eventually(async () => {
    const scraped = await scrape(gateway);
    for (const name of [
      'graphql_subscription_duration_seconds_count',
      'gateway_delivery_delay_seconds_count',
      'nodejs_gc_duration_seconds_count',
    ]) {
      expect(scraped.sum(name)).toBeGreaterThan(0);
    }
    return scraped;
  });
  const labels = new Map<string, Set<string>>();
  for (const sample of samples) {
    const known = labels.get(sample.name) ?? new Set(ADDED);
    for (const label of Object.keys(sample.labels)) known.add(label);
    labels.set(sample.name, known);
  }
  labelsByMetric = labels.set('up', new Set(ADDED));
  names = [...types.keys()];
  await issuer.close();
});
afterAll(async () => {
  await gateway.stop();
  await chat.close();
  await database.drop();
});

/** A metric in a query, with its label matchers. */
type Selector = { name: string; matchers: { label: string; value: string }[] };

/** Parses a PromQL query into the selected metrics and the labels that it groups by. */
function parseQuery(query: string): { selectors: Selector[]; groupedBy: string[] } {
  const groups = /\b(?:by|on) ?\(([^)]*)\)/g;
  const groupedBy = [...query.matchAll(groups)].flatMap(([, list = '']) => list.split(/, ?/));
  const rest = query.replaceAll(groups, ' ').replaceAll(/\[[^\]]*\]/g, ' ');
  const selectors = [...rest.matchAll(/\b([a-z]\w*)(?!\w)(?! ?\()(?:\{([^}]*)\})?/g)]
    .map(([, name = '', inner = '']) => ({
      name,
      matchers: [...inner.matchAll(/(\w+)(?:=|=~|!=|!~)"([^"]*)"/g)].map(([, label = '', value = '']) => ({
        label,
        value,
      })),
    }))
    .filter(({ name }) => !/^(and|or|unless|offset|sum|max|count|rate|increase|vector)$/.test(name));
  return { selectors, groupedBy };
}

/** Returns the metrics, labels, error codes and outcomes in a query that a gateway does not have. */
function findUnknown(query: string): string[] {
  const { selectors, groupedBy } = parseQuery(query);
  const known = selectors.flatMap(({ name }) => [...(labelsByMetric.get(name) ?? [])]);
  return [
    ...selectors.filter(({ name }) => !labelsByMetric.has(name)).map(({ name }) => name),
    ...selectors.flatMap(({ name, matchers }) =>
      matchers
        .filter(({ label }) => !labelsByMetric.get(name)?.has(label))
        .map(({ label }) => `${name}{${label}}`),
    ),
    ...selectors.flatMap(({ matchers }) =>
      matchers
        .filter(({ label }) => label === 'code')
        .flatMap(({ value }) => value.split('|'))
        .filter((code) => !Object.keys(httpStatus).includes(code.toUpperCase())),
    ),
    ...selectors.flatMap(({ matchers }) =>
      matchers
        .filter(({ label }) => label === 'outcome')
        .flatMap(({ value }) => value.split('|'))
        .filter((outcome) => !['delivered', ...deliveryFailureReasons].includes(outcome)),
    ),
    ...groupedBy.filter((label) => !known.includes(label)),
  ];
}

test('queries are parsed into metrics and labels', () => {
  const query = 'sum by (job, le) (rate(gateway_errors_total{job="$job",code=~"a|b"}[5m])) or vector(0) > 1';
  expect(parseQuery(query)).toEqual({
    selectors: [
      {
        name: 'gateway_errors_total',
        matchers: [
          { label: 'job', value: '$job' },
          { label: 'code', value: 'a|b' },
        ],
      },
    ],
    groupedBy: ['job', 'le'],
  });
  expect(findUnknown(query)).toEqual(['a', 'b', 'le']);
  expect(findUnknown('gateway_delivery_attempts_total{outcome="refused"}')).toEqual(['refused']);
  expect(findUnknown('rate(no_such_total[5m]) + gateway_live_subscribers{user="a"}')).toEqual([
    'no_such_total',
    'gateway_live_subscribers{user}',
  ]);
});

test("the dashboard queries only existing metrics, and shows all of the gateway's own", async () => {
  const { panels } = Dashboard.parse(JSON.parse(await readRepositoryFile('ops/grafana-dashboard.json')));
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  expect(queries.length).toBeGreaterThan(25);
  expect(queries.flatMap(findUnknown)).toEqual([]);
  const own = names.filter((name) => !/^(process|nodejs)_/.test(name));
  expect(own.length).toBeGreaterThan(14);
  expect(own.filter((name) => !queries.some((query) => query.includes(name)))).toEqual([]);
});

test('every metric is documented', () => {
  const documented = tableBelow(readPage('docs/observability.md'), 'Metrics').map(([name]) => name);
  const own = names.filter((name) => !/^(process|nodejs)_/.test(name));
  expect(documented.sort()).toEqual([...own, 'process_*, nodejs_*'].sort());
});

test("the dashboard's panels have unique IDs and do not overlap", async () => {
  const { panels } = Dashboard.parse(JSON.parse(await readRepositoryFile('ops/grafana-dashboard.json')));
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)}:${y + Math.floor(cell / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  for (const { type, fieldConfig } of panels) if (type !== 'row') expect(fieldConfig).toBeDefined();
});

test('the alerts query only existing metrics, and all are documented', async () => {
  const text = await readRepositoryFile('ops/prometheus-alerts.yaml');
  const queries = [...text.matchAll(/^ {8}expr: (?:[|>]-?\n((?: {10,}.*\n)+)|(.+)\n)/gm)].map(
    ([, block, line]) => block ?? line ?? '',
  );
  const alerts = Array.from(text.matchAll(/- alert: (\w+)/g), ([, name]) => name);
  expect(queries).toHaveLength(alerts.length);
  const documented = tableBelow(readPage('docs/observability.md'), 'Dashboard and alerts');
  expect(documented.map(([name]) => name)).toEqual(alerts);
  expect(queries.flatMap(findUnknown)).toEqual([]);
});

test('every alert links to its section of the documentation', async () => {
  const text = await readRepositoryFile('ops/prometheus-alerts.yaml');
  const alerts = Array.from(text.matchAll(/- alert: (\w+)/g), ([, name]) => name ?? '');
  const page = /^https:\/\/git\.example\.com\/acme\/workspace-account-gateway\/docs\/observability\.md$/;
  const links = Array.from(text.matchAll(/^ {10}runbook_url: "(.+)#(.+)"$/gm));
  for (const [, address] of links) expect(address).toMatch(page);
  expect(links.map(([, , anchor]) => anchor)).toEqual(alerts.map((name) => name.toLowerCase()));
  const [, runbooks = ''] = readPage('docs/observability.md').text.split(/^## Runbooks$/m);
  const sections = Array.from(
    runbooks.split(/^## /m)[0]?.matchAll(/^### (\w+)$/gm) ?? [],
    ([, name]) => name,
  );
  expect(sections).toEqual(alerts);
});
