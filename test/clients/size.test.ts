import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundleClient } from '../support/client-bundle.ts';

test('the client has at most 15 KiB, with its dependency', async () => {
  const code = await bundleClient();
  // Everything is in the bundle.
  expect(code).not.toMatch(/^import\b/m);
  expect(gzipSync(code).length).toBeLessThanOrEqual(15 * 1024);
});
