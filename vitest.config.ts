import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/foreign/**', '**/node_modules/**'],
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', './test/support/closing-line.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Files share a worker's modules: importing the gateway takes longer than most files' tests.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // The tests wait for processes and sockets more than they compute.
    maxWorkers: 3,
    // Modules are loaded by Node itself, as in production: vite's own loader would bring in graphql twice.
    experimental: { viteModuleRunner: false },
  },
});
