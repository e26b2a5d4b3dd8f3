import { defineConfig } from 'vitest/config';
import main from './vitest.config.ts';

/** Tests with programs that npm does not install: client generators, Schemathesis, a browser, systemd. */
export default defineConfig({
  test: { ...main.test, include: ['test/foreign/**/*.test.ts'], exclude: [], fileParallelism: false },
});
