import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { deliveryFailureReasons } from '../../src/delivery/delivery.enums.ts';
import { httpStatus } from '../../src/errors/gateway-errors.ts';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { graphql, rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { putContact } from '../support/delivery.ts';
import { readPage, readRepositoryFile, tableBelow } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { startIssuer } from '../support/issuer.ts';
import { scrape } from '../support/metrics.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';
import { freePort } from '../support/servers.ts';
import { updateStatistics } from '../support/statistics.ts';
import { jwks, member } from '../support/tokens.ts';

/** Labels that Prometheus adds to every scraped metric. */
const ADDED = ['job', 'instance'];

const Dashboard = z.object({
  panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })).default([]) })),
});
const Alert = z.object({
  alert: z.string().optional(),
  expr: z.string(),
  annotations: z.object({ runbook_url: z.string() }).optional(),
});
const Alerts = z.object({ groups: z.array(z.object({ rules: z.array(Alert) })) });

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
  await putContact(gateway, 'alice', { chatMemberId: 'U012AB3CD' });
  const stream = await subscribeToNotifications(gateway, 'alice');
  await publish(gateway, 'alice');
  await nextEvent(stream);
  stream.close();
  const late = ['graphql_subscription_duration', 'gateway_delivery_delay', 'nodejs_gc_duration'];
  const { samples, types } = await eventually(async () => {
    const scraped = await scrape(gateway);
    for (const name of late) expect(scraped.sum(`${name}_seconds_count`)).toBeGreaterThan(0);
    return scraped;
  });
  const bySample = Map.groupBy(samples, ({ name }) => name);
  const labels = new Map(
    [...bySample].map(([name, all]) => [
      name,
      new Set([...ADDED, ...all.flatMap((sample) => Object.keys(sample.labels))]),
    ]),
  );
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
  const matched = selectors.flatMap(({ name, matchers }) =>
    matchers.map((matcher) => ({ name, ...matcher })),
  );
  const values = (wanted: string) =>
    matched.flatMap(({ label, value }) => (label === wanted ? value.split('|') : []));
  return [
    ...selectors.map(({ name }) => name).filter((name) => !labelsByMetric.has(name)),
    ...matched
      .filter(({ name, label }) => !labelsByMetric.get(name)?.has(label))
      .map(({ name, label }) => `${name}{${label}}`),
    ...values('code').filter((code) => !(code.toUpperCase() in httpStatus)),
    ...values('outcome').filter((outcome) => !['delivered', ...deliveryFailureReasons].includes(outcome)),
    ...groupedBy.filter((label) => !known.includes(label)),
  ];
}

test("the dashboard queries only existing metrics, and shows all of the gateway's own", async () => {
  const { panels } = Dashboard.parse(JSON.parse(await readRepositoryFile('ops/grafana-dashboard.json')));
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  expect(queries.flatMap(findUnknown)).toEqual([]);
  const own = names.filter((name) => !/^(process|nodejs)_/.test(name));
  expect(own.filter((name) => !queries.some((query) => query.includes(name)))).toEqual([]);
});

test('every metric is documented', () => {
  const documented = tableBelow(readPage('docs/observability.md'), 'Metrics').map(([name]) => name);
  const own = names.filter((name) => !/^(process|nodejs)_/.test(name));
  expect(documented.sort()).toEqual([...own, 'process_*, nodejs_*'].sort());
});

test('the alerts query only existing metrics, and link to their sections of the documentation', async () => {
  const text = await readRepositoryFile('ops/prometheus-alerts.yaml');
  const groups = Alerts.parse(parse(text)).groups;
  const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined);
  const page = readPage('docs/observability.md');
  expect(alerts.flatMap(({ expr }) => findUnknown(expr))).toEqual([]);
  expect(tableBelow(page, 'Dashboard and alerts').map(([name]) => name)).toEqual(
    alerts.map(({ alert }) => alert),
  );
  const [, runbooks = ''] = page.text.split(/^## Runbooks$/m);
  const sections = Array.from(
    runbooks.split(/^## /m)[0]?.matchAll(/^### (\w+)$/gm) ?? [],
    ([, name = '']) => name,
  );
  const address = 'https://git.example.com/acme/workspace-account-gateway/docs/observability.md';
  expect(alerts.map(({ annotations }) => annotations?.runbook_url)).toEqual(
    sections.map((name) => `${address}#${name.toLowerCase()}`),
  );
});
