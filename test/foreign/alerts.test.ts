import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const rules = fileURLToPath(new URL('../../ops/prometheus-alerts.yaml', import.meta.url));

const age = 'gateway_delivery_age_seconds';
const overdue = 'gateway_delivery_overdue_seconds';
const attempts = (outcome: string) => `gateway_delivery_attempts_total~${outcome}`;

/** The values of a metric for each minute, in Prometheus' notation: `0+60x9` rises by 60, `0x9` stays. */
type Series = Readonly<Record<string, string>>;

/** Returns the alerts that fire after so many minutes, as Prometheus evaluates them. */
async function evaluate(series: Series, minutes: number, firing: readonly string[]): Promise<void> {
  const input = Object.entries(series).map(([name, values]) => {
    const [metric, outcome] = name.split('~');
    const labels = { job: 'gateway', instance: 'a', channel: 'email', ...(outcome && { outcome }) };
    const matchers = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return { series: `${metric}{${matchers}}`, values };
  });
  const expected = firing.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 }));
  const scenario = {
    interval: '1m',
    input_series: input,
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${minutes}m`,
        exp_samples: expected,
      },
    ],
  };
  const folder = await mkdtemp(join(tmpdir(), 'gateway-alerts-'));
  try {
    const file = join(folder, 'test.yaml');
    await writeFile(
      file,
      JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests: [scenario] }),
    );
    await promisify(execFile)('promtool', ['test', 'rules', file]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A message is first due after a minute, and attempted with increasing delays. No attempt is due when it is scraped. */
const failing = (outcome: string): Series => ({
  [age]: '0 0+60x400',
  [overdue]: '0x401',
  [attempts('delivered')]: '0x401',
  [attempts(outcome)]: '0 3 4 5 5 6 6 6 6 6 7x9 8x19 9x29 10x59 11x59 12x59 13x59 14x99',
});

test.skipIf(!hasPromtool).each<[what: string, series: Series, minutes: number, firing: string[]]>([
  ['the provider has just failed', failing('provider_unavailable'), 4, []],
  ['attempts fail at low volume', failing('provider_unavailable'), 10, ['GatewayNothingDelivered']],
  ['attempts fail once an hour', failing('provider_unavailable'), 300, ['GatewayNothingDelivered']],
  ['replies are lost', failing('reply_lost'), 10, ['GatewayNothingDelivered']],
  [
    'another message has been delivered meanwhile',
    { ...failing('provider_unavailable'), [attempts('delivered')]: '0x5 1x395' },
    10,
    [],
  ],
  [
    'the last message was delivered long ago',
    { ...failing('provider_unavailable'), [attempts('delivered')]: '0x5 1x395' },
    60,
    ['GatewayNothingDelivered'],
  ],
  ['only a recipient is refused', failing('recipient_rejected'), 60, []],
  ['nothing is left to deliver', { ...failing('provider_unavailable'), [age]: '0x401' }, 60, []],
  ['no sender runs', { [age]: '0+60x60', [overdue]: '0+60x60' }, 10, ['GatewayDeliveriesOverdue']],
  [
    'the credentials are refused',
    failing('provider_refused'),
    20,
    ['GatewayNothingDelivered', 'GatewayProviderRefuses'],
  ],
])('the alerts if %s (needs promtool)', async (_what, series, minutes, firing) => {
  await expect(evaluate(series, minutes, firing)).resolves.toBeUndefined();
});
