import { env } from 'node:process';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** Tests that load a gateway for a long time, repeat a race many times, or start and kill servers. */
const LONG = 'test/**/*.long.test.ts';
/** Attacks, which measure how long other users wait. */
const ATTACKS = 'test/abuse/**/*.long.test.ts';
/** Tests with foreign programs: client generators, a browser, proxies. */
const FOREIGN = 'test/foreign/**/*.test.ts';
/** What has to hold of a release: rolling restarts, upgrades, images, backups, PgBouncer, units, alerts. */
const RELEASE = 'test/releases/**/*.test.ts';
/** Tests of documents, packaging and the structure of the source. */
const DOCS = 'test/docs/**/*.test.ts';

/** More than cores: the tests mostly wait for processes and sockets. */
const WORKERS = 4;

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line.ts'],
    // Shows what a gateway logged as an error only if the test failed.
    silent: 'passed-only',
    // CI repeats a failed test once: of thousands that race, wait and measure, one may fail on a busy machine.
    retry: Number(env.TEST_RETRIES ?? 0),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Test files share the modules of a worker: importing the gateway takes longer than most files' tests.
    isolate: false,
    // Node.js loads the modules, as in production. Vite's module runner would load graphql twice.
    experimental: { viteModuleRunner: false },
    projects: [
      project('main', ['test/**/*.test.ts'], [LONG, FOREIGN, RELEASE, DOCS]),
      project('docs', [DOCS]),
      // Many start programs of their own.
      project('long', [LONG, FOREIGN], [ATTACKS], 2),
      // After the others, one at a time.
      project('attacks', [ATTACKS], [], 1),
      project('release', [RELEASE], [], 2),
    ],
  },
});

/** Projects with fewer workers run later. */
function project(
  name: string,
  include: string[],
  exclude: string[] = [],
  maxWorkers = WORKERS,
): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      name,
      include,
      exclude,
      maxWorkers,
      sequence: { groupOrder: WORKERS - maxWorkers },
      globalSetup: 'test/support/global-setup.ts',
    },
  };
}
