import { execFile, spawnSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRepositoryFile } from '../support/documentation.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';

/* The files in ops/, as the programs that read them check them. */

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const repository = fileURLToPath(new URL('../..', import.meta.url));
const rules = join(repository, 'ops/prometheus-alerts.yaml');

let folder: string;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => removeFolder(folder));

const age = 'gateway_delivery_age_seconds';
const overdue = 'gateway_delivery_overdue_seconds';
const attempts = (outcome: string) => `gateway_delivery_attempts_total{outcome="${outcome}"}`;
const errors = (code: string) => `gateway_errors_total{code="${code}"}`;
const deliveries = (state: string) => `gateway_deliveries{state="${state}"}`;
const credentials = (state: string) => `gateway_editor_credentials{state="${state}"}`;

/** The values of a metric for each minute, in Prometheus' notation: `0+60x9` rises by 60, `0x9` stays. */
type Series = Readonly<Record<string, string>>;

/** A target that is scraped; without it, an alert fires. */
const scraped: Series = { up: '1x2000' };

/** Expects these alerts to fire after so many minutes, as Prometheus evaluates them. */
async function evaluate(series: Series, minutes: number, firing: readonly string[]): Promise<void> {
  const input = Object.entries(series).map(([name, values]) => {
    const [metric, own = '}'] = name.split('{');
    return { series: `${metric}{job="gateway",instance="a",channel="email",${own}`, values };
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
  const file = join(folder, 'test.yaml');
  const tests = { rule_files: [rules], evaluation_interval: '1m', tests: [scenario] };
  await writeFile(file, JSON.stringify(tests));
  await promisify(execFile)('promtool', ['test', 'rules', file]);
}

/** A message is first due after a minute, and attempted with increasing delays. No attempt is due when it is scraped. */
const failing = (outcome: string): Series => ({
  [age]: '0 0+60x400',
  [overdue]: '0x401',
  [attempts('delivered')]: '0x401',
  [attempts(outcome)]: '0 3 4 5 5 6 6 6 6 6 7x9 8x19 9x29 10x59 11x59 12x59 13x59 14x99',
});

const requestsOverdue = (values: string): Series => ({ gateway_requests_overdue_seconds: values });
const feedLag = (values: string): Series => ({ gateway_platform_feed_lag_seconds: values });
const keySet = (minutes: number, maxAge: number): Series => ({
  gateway_key_set_age_seconds: `0+60x${minutes}`,
  gateway_key_set_max_age_seconds: `${maxAge}x${minutes}`,
});
const streams = (count: number): Series => ({
  gateway_live_subscribers: `${count}x60`,
  gateway_live_subscribers_max: '1000x60',
});
const ended = (failed: string, delivered: string): Series => ({
  [deliveries('failed')]: failed,
  [deliveries('delivered')]: delivered,
});
const needReauth = (count: number, connected: number): Series => ({
  [credentials('needs_reauth')]: `${count}x60`,
  [credentials('connected')]: `${connected}x60`,
});

const unavailable = failing('provider_unavailable');
const deliveredMeanwhile = { ...unavailable, [attempts('delivered')]: '0x5 1x395' };

test.skipIf(!hasPromtool).each<[what: string, series: Series, minutes: number, ...firing: string[]]>([
  ['the provider has just failed', unavailable, 4],
  ['attempts fail at low volume', unavailable, 10, 'GatewayNothingDelivered'],
  ['attempts fail once an hour', unavailable, 300, 'GatewayNothingDelivered'],
  ['replies are lost', failing('reply_lost'), 10, 'GatewayNothingDelivered'],
  ['another message has been delivered meanwhile', deliveredMeanwhile, 10],
  ['the last message was delivered long ago', deliveredMeanwhile, 60, 'GatewayNothingDelivered'],
  ['only a recipient is refused', failing('recipient_rejected'), 60],
  ['nothing is left to deliver', { ...unavailable, [age]: '0x401' }, 60],
  ['no sender runs', { [age]: '0+60x60', [overdue]: '0+60x60' }, 10, 'GatewayDeliveriesOverdue'],
  [
    'the credentials are refused',
    failing('provider_refused'),
    20,
    ...['GatewayNothingDelivered', 'GatewayProviderRefuses'],
  ],
  ['requests expire and are settled', requestsOverdue('1x60'), 30],
  ['expiries are no longer stored', requestsOverdue('0x9 0+60x60'), 12, 'GatewayRequestsOverdue'],
  ['events enter the feed', feedLag('1x60'), 30],
  ['no gateway gives positions to events', feedLag('0x9 0+60x60'), 12, 'GatewayPlatformFeedLate'],
  ['a scrape has just failed', { up: '1x9 0x9' }, 11],
  ['scrapes of a process fail', { up: '1x9 0x9' }, 14, 'GatewayDown'],
  ['the only target has just disappeared', { up: '1x9 stale' }, 13],
  ['there is no target', { up: '1x9 stale' }, 18, 'GatewayMissing'],
  ['401s are as frequent as yesterday', { [errors('unauthenticated')]: '0+60x1600' }, 1500],
  ['some 401s follow none', { [errors('unauthenticated')]: '0x1450 0+3x60' }, 1480],
  [
    'many 401s follow few',
    { [errors('unauthenticated')]: '0+6x1450 8700+60x60' },
    1480,
    'GatewayTokensRejected',
  ],
  ['429s are as frequent as yesterday', { [errors('rate_limited')]: '0+60x1600' }, 1500],
  ['many 429s follow none', { [errors('rate_limited')]: '0x1450 0+60x60' }, 1480, 'GatewayRateLimited'],
  ['the key set is half an hour old of a day', keySet(30, 86_400), 30],
  ['the key set is two hours old of a day', keySet(120, 86_400), 120, 'GatewayKeySetStale'],
  [
    'the key set is two hours old of three',
    keySet(120, 10_800),
    120,
    ...['GatewayKeySetExpiring', 'GatewayKeySetStale'],
  ],
  ['a process has 80 % of its streams', streams(800), 30],
  ['a process has 81 % of its streams', streams(810), 30, 'GatewayStreamsNearLimit'],
  ['few deliveries fail among many', ended('0x60 20x60', '0+10x120'), 70],
  ['a few deliveries fail among none', ended('0x60 10x60', '500x120'), 70],
  ['many deliveries fail', ended('0x60 20x60', '0+2x120'), 70, 'GatewayDeliveriesFailed'],
  ['a tenth of the credentials needs new authentication', needReauth(100, 900), 30],
  ['most of ten credentials need new authentication', needReauth(9, 1), 30],
  [
    'more than a tenth of the credentials needs new authentication',
    needReauth(120, 880),
    30,
    'GatewayCredentialsNeedReauth',
  ],
])('the alerts if %s (needs promtool)', async (_what, series, minutes, ...firing) => {
  await expect(evaluate({ ...scraped, ...series }, minutes, firing)).resolves.toBeUndefined();
});

describe.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)(
  'systemd-analyze (needs systemd)',
  () => {
    const NAME = 'workspace-account-gateway@.service';
    let path: string;
    beforeAll(async () => {
      // The unit of instance 1.
      const unit = (await readRepositoryFile(`ops/${NAME}`)).replaceAll('%i', '1');
      const installed = join(folder, 'installed');
      await symlink(repository, installed);
      path = join(folder, NAME.replace('@', '@1'));
      await writeFile(path, unit.replaceAll('/opt/workspace-account-gateway', installed));
    });

    const analyze = (...options: string[]) =>
      spawnSync('systemd-analyze', [...options, path], { encoding: 'utf8' });

    test('verifies the unit and finds its program', () => {
      expect(analyze('verify')).toMatchObject({ status: 0, stdout: '', stderr: '' });
    });

    test('rates the exposure of the service at most 1.5 of 10', () => {
      const { status, stdout } = analyze('security', '--offline=true', '--threshold=15');
      expect(status, stdout).toBe(0);
    });
  },
);
