import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { timeouts } from '../../src/server/connections.ts';
import { readRepositoryFile } from '../support/documentation.ts';

/* releases/rolling-restart.test.ts runs the proxies. This file checks the values that must fit together. */

const unit = await readRepositoryFile('ops/workspace-account-gateway@.service');
const readDelay = (name: string) => Number(new RegExp(`^Environment=${name}=(\\d+)$`, 'm').exec(unit)?.[1]);
const shutdownDelay = readDelay('SHUTDOWN_DELAY_MS');
const readyDelay = readDelay('READY_DELAY_MS');

/** Reads the value after a name; times are in milliseconds. */
async function readValue(file: string, name: string): Promise<number> {
  const [, value = Number.NaN, unit] =
    new RegExp(`^[^#\\n]*\\b${name}[ =](\\d+)(s|ms)?\\b`, 'm').exec(await readRepositoryFile(file)) ?? [];
  return Number(value) * (unit === 's' ? 1000 : 1);
}

describe('SHUTDOWN_DELAY_MS and READY_DELAY_MS of the unit', () => {
  test('are shorter and longer than the time for which nginx sends nothing to a failed gateway', async () => {
    const failTimeout = await readValue('ops/nginx.conf', 'fail_timeout');
    expect(failTimeout).toBeGreaterThan(shutdownDelay);
    // nginx counts whole seconds.
    expect(readyDelay).toBeGreaterThan(failTimeout + 1000);
  });

  test('are longer than HAProxy needs to notice that a gateway is stopping or ready', async () => {
    const read = (name: string) => readValue('ops/haproxy.cfg', name);
    const [interval, next, timeout] = [
      await read('inter'),
      await read('fastinter'),
      await read('timeout check'),
    ];
    // A check that began before the signal may still pass.
    expect(shutdownDelay).toBeGreaterThan(timeout + interval + ((await read('fall')) - 1) * next);
    const rise = await read('rise');
    expect(readyDelay).toBeGreaterThan(interval + (rise - 1) * next + rise * timeout);
  });

  test('are longer than Caddy needs to notice it, as are those in compose.yaml', async () => {
    const [interval, timeout] = [
      await readValue('ops/Caddyfile', 'health_interval'),
      await readValue('ops/Caddyfile', 'health_timeout'),
    ];
    const Compose = z.object({
      'x-gateway': z.object({
        environment: z.object({ SHUTDOWN_DELAY_MS: z.string(), READY_DELAY_MS: z.string() }),
      }),
    });
    const compose = Compose.parse(parse(await readRepositoryFile('compose.yaml')));
    const { SHUTDOWN_DELAY_MS, READY_DELAY_MS } = compose['x-gateway'].environment;
    for (const delay of [shutdownDelay, readyDelay, Number(SHUTDOWN_DELAY_MS), Number(READY_DELAY_MS)]) {
      expect(delay).toBeGreaterThan(interval + timeout);
    }
  });
});

test('nginx and Caddy close idle connections before the gateway does, also before one that is stopping', async () => {
  expect(shutdownDelay).toBeLessThan(timeouts.keepAliveTimeout);
  expect(await readValue('ops/nginx.conf', 'keepalive_timeout')).toBeLessThan(shutdownDelay);
  expect(await readValue('ops/Caddyfile', 'keepalive')).toBeLessThan(shutdownDelay);
});

test('all proxies serve HTTP/2 with TLS, which browsers need for more than six live streams', async () => {
  expect(await readRepositoryFile('ops/nginx.conf')).toMatch(/^ *# listen 443 ssl http2;$/m);
  expect(await readRepositoryFile('ops/haproxy.cfg')).toMatch(/^ *# bind :443 ssl .* alpn h2,http\/1\.1$/m);
  // Caddy does unless its protocols are restricted.
  expect(await readRepositoryFile('ops/Caddyfile')).not.toMatch(/\bprotocols\b/);
});
