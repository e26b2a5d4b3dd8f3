import { defineConfig } from 'vitest/config';
import main from './vitest.config.ts';

/** Tests that run foreign programs: clients that are generated in other languages, and a tester of APIs. */
export default defineConfig({
  test: { ...main.test, include: ['test/foreign/**/*.test.ts'], exclude: [], fileParallelism: false },
});
