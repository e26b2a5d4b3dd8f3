import fc from 'fast-check';
import { expect, test } from 'vitest';
import { notificationKinds } from '../src/notifications/notification.enums.ts';
import { lastChange, type PreferenceChange } from '../src/notifications/preferences/preferences.ts';

const channels = { emailEnabled: fc.boolean(), pushEnabled: fc.boolean(), chatDmEnabled: fc.boolean() };
const change = fc.record(
  { notificationKind: fc.constantFrom(...notificationKinds, null, undefined), ...channels },
  { requiredKeys: ['emailEnabled', 'pushEnabled', 'chatDmEnabled'] },
);
const changes = fc.array(change, { maxLength: 12 });
const kind = fc.constantFrom(...notificationKinds);

const on = { emailEnabled: true, pushEnabled: true, chatDmEnabled: true };
const off = { emailEnabled: false, pushEnabled: false, chatDmEnabled: false };

test.each<[what: string, changes: PreferenceChange[], expected: object | undefined]>([
  ['no change has no effect', [], undefined],
  ['a change of another kind has no effect', [{ notificationKind: 'plan_requested', ...off }], undefined],
  ['a change of the kind applies', [{ notificationKind: 'task_failed', ...off }], off],
  ['a change without a kind applies', [off], off],
  ['a null kind is the same as no kind', [{ notificationKind: null, ...off }], off],
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
  ['a later change of another kind has no effect', [off, { notificationKind: 'plan_requested', ...on }], off],
])('lastChange of task_failed: %s', (_what, changes, expected) => {
  const last = lastChange('task_failed', changes);
  if (expected === undefined) expect(last).toBeUndefined();
  else expect(last).toMatchObject(expected);
});

test('the last change equals the result of applying all changes in order', () => {
  fc.assert(
    fc.property(kind, changes, (kind, changes) => {
      const applied = changes.reduce<PreferenceChange | undefined>(
        (before, change) =>
          change.notificationKind == null || change.notificationKind === kind ? change : before,
        undefined,
      );
      expect(lastChange(kind, changes)).toEqual(applied);
    }),
  );
});

test('an additional change decides for its own kind, and does not affect other kinds', () => {
  fc.assert(
    fc.property(kind, changes, change, (kind, changes, change) => {
      const applies = change.notificationKind == null || change.notificationKind === kind;
      expect(lastChange(kind, [...changes, change])).toEqual(applies ? change : lastChange(kind, changes));
    }),
  );
});
