import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { bundleClient, measureBundle } from '../support/client-bundle.ts';

const HOOKS = ['useInbox', 'useAnswer', 'useCounts', 'useNotification', 'usePreferences', 'useEditorAuth'];

test.each([
  ['client', 'createInbox, subscribeToPush', '', 16],
  ['client and hooks', 'createInbox, subscribeToPush', ['InboxProvider', ...HOOKS].join(), 16],
  [
    'client, hooks and components',
    'createInbox',
    'InboxProvider, Inbox, InboxBell, NotificationPreferences',
    30,
  ],
])(
  '%s have at most the size that is promised, compressed, with dependencies',
  async (_name, client, react, limit) => {
    const { first } = await measureBundle(
      `export { ${client} } from '@workspace-account/client'; export { ${react} } from '@workspace-account/react';`,
    );
    expect(first).toBeLessThanOrEqual(limit);
  },
);

test('the client has no imports besides its own code', async () => {
  expect(await bundleClient()).not.toMatch(/^import\b/m);
});

test('the example inbox is a page around the components, of at most 350 lines', async () => {
  const folder = fileURLToPath(new URL('../../examples/inbox/src', import.meta.url));
  const files = await readdir(folder);
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  expect(texts.join('').trimEnd().split('\n').length).toBeLessThanOrEqual(350);
});
