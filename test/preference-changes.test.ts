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
  ['no change says nothing', [], undefined],
  ['a change of another kind says nothing', [{ notificationKind: 'plan_requested', ...off }], undefined],
  ['a change of the kind is taken', [{ notificationKind: 'task_failed', ...off }], off],
  ['a change without a kind is taken', [off], off],
  ['a null kind is no kind', [{ notificationKind: null, ...off }], off],
  ['the kind after all wins', [on, { notificationKind: 'task_failed', ...off }], off],
  ['all after the kind wins', [{ notificationKind: 'task_failed', ...on }, off], off],
  ['another kind after it does not', [off, { notificationKind: 'plan_requested', ...on }], off],
])('for task_failed: %s', (_what, changes, expected) => {
  const last = lastChange('task_failed', changes);
  if (expected === undefined) expect(last).toBeUndefined();
  else expect(last).toMatchObject(expected);
});

test('the last change is what applying one after another ends in', () => {
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

test('a change at the end decides for its kind, and one of another kind decides nothing', () => {
  fc.assert(
    fc.property(kind, changes, change, (kind, changes, change) => {
      const speaks = change.notificationKind == null || change.notificationKind === kind;
      expect(lastChange(kind, [...changes, change])).toEqual(speaks ? change : lastChange(kind, changes));
    }),
  );
});
