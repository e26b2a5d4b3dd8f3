import fc from 'fast-check';
import { expect, test } from 'vitest';
import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import {
  findInvalidChanges,
  mergeChanges,
  type PreferenceChange,
} from '../../src/notifications/preferences/preferences.ts';

const names = ['emailEnabled', 'pushEnabled', 'chatDmEnabled'] as const;
const channel = fc.constantFrom(true, false, null, undefined);
const change = fc.record(
  {
    notificationKind: fc.constantFrom(...notificationKinds, null, undefined),
    emailEnabled: channel,
    pushEnabled: channel,
    chatDmEnabled: channel,
  },
  { requiredKeys: [] },
);
const changes = fc.array(change, { maxLength: 12 });
const kind = fc.constantFrom(...notificationKinds);

const on = { emailEnabled: true, pushEnabled: true, chatDmEnabled: true };
const off = { emailEnabled: false, pushEnabled: false, chatDmEnabled: false };

test('merging changes has the same result as applying them in order', () => {
  fc.assert(
    fc.property(
      kind,
      changes,
      fc.record({ emailEnabled: fc.boolean(), pushEnabled: fc.boolean(), chatDmEnabled: fc.boolean() }),
      (kind, changes, before) => {
        const applied = { ...before };
        for (const change of changes) {
          if (change.notificationKind != null && change.notificationKind !== kind) continue;
          for (const name of names) applied[name] = change[name] ?? applied[name];
        }
        expect({ ...before, ...mergeChanges(kind, changes) }).toEqual(applied);
      },
    ),
  );
});

test.each<[what: string, changes: PreferenceChange[], invalid: number[]]>([
  ['no item', [], []],
  ['equal items without a kind', [off, { ...off, notificationKind: null }], []],
  ['a different item without a kind', [off, on, off, { pushEnabled: false }], [1, 3]],
  ['items of a kind that differ', [{ notificationKind: 'task_failed', ...off }, on], []],
  ['an item without channels', [on, { notificationKind: 'task_failed' }], [1]],
  ['an item whose channels are null', [{ emailEnabled: null }], [0]],
])('findInvalidChanges: %s', (_what, changes, invalid) => {
  expect([...findInvalidChanges(changes)].map(({ index }) => index)).toEqual(invalid);
});
