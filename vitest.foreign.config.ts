import { defineConfig } from 'vitest/config';
import main from './vitest.config.ts';

/** Tests that run programs npm does not install: generated clients, an API tester, a browser, systemd, image builds. */
export default defineConfig({
  test: { ...main.test, include: ['test/foreign/**/*.test.ts'], exclude: [], fileParallelism: false },
});
