import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/foreign/**', 'test/**/*.long.test.ts', '**/node_modules/**'],
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', './test/support/closing-line.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Test files share the modules of a worker: importing the gateway takes longer than most files' tests.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // More workers than cores: the tests mostly wait for processes and sockets.
    maxWorkers: 4,
    // Node.js loads the modules, as in production. Vite's module runner would load graphql twice.
    experimental: { viteModuleRunner: false },
  },
});
