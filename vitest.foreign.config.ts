import { defineConfig } from 'vitest/config';
import main from './vitest.config.ts';

/**
 * Tests with foreign programs: client generators, Schemathesis, a mail server, a browser, Debian's PostgreSQL and
 * PgBouncer, proxies, systemd-analyze, the frameworks of the benchmarks, npm.
 */
export default defineConfig({
  test: { ...main.test, include: ['test/foreign/**/*.test.ts'], exclude: [], fileParallelism: false },
});
