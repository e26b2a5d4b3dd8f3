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

test.each<[what: string, changes: PreferenceChange[], expected: object]>([
  ['no change has no effect', [], {}],
  ['a change of another kind has no effect', [{ notificationKind: 'plan_requested', ...off }], {}],
  ['a change of the kind applies', [{ notificationKind: 'task_failed', ...off }], off],
  ['a change without a kind applies', [off], off],
  ['a null kind is the same as no kind', [{ notificationKind: null, ...off }], off],
  ['a channel that is not named does not change', [{ pushEnabled: false }], { pushEnabled: false }],
  ['a null channel does not change', [{ pushEnabled: false, emailEnabled: null }], { pushEnabled: false }],
  [
    'a change of the kind overrides an earlier one of all kinds',
    [on, { notificationKind: 'task_failed', ...off }],
    off,
  ],
  [
    'a change of all kinds overrides an earlier one of the kind',
    [{ notificationKind: 'task_failed', ...on }, off],
    off,
  ],
  [
    'a later change overrides only the channels that it names',
    [on, { notificationKind: 'task_failed', chatDmEnabled: false }],
    { ...on, chatDmEnabled: false },
  ],
  ['a later change of another kind has no effect', [off, { notificationKind: 'plan_requested', ...on }], off],
])('mergeChanges of task_failed: %s', (_what, changes, expected) => {
  expect(mergeChanges('task_failed', changes)).toEqual(expected);
});

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
