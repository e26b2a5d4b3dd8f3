import { defineConfig } from 'vitest/config';
import main from './vitest.config.ts';

/** Tests that load a gateway for a long time. They measure delays, so they run one after the other. */
export default defineConfig({
  test: { ...main.test, include: ['test/**/*.long.test.ts'], exclude: [], fileParallelism: false },
});
