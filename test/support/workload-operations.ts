import fc from 'fast-check';

const tasks = ['task-1', 'task-2'] as const;
const kinds = ['plan_requested', 'task_failed'] as const;

const user = fc.nat(2);
/** Hours since the start of a year. The operation's index makes every timestamp unique. */
const hour = fc.nat(20);
const what = <Name extends string>(name: Name) => fc.constant(name);
const flags = fc.record({ email: fc.boolean(), push: fc.boolean(), chat: fc.boolean() });

/** A change by or for one of three users. */
export const operations = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: what('publish'),
      user,
      task: fc.constantFrom(...tasks),
      kind: fc.constantFrom(...kinds),
      hour,
      isBatch: fc.boolean(),
    }),
  },
  fc.record({ what: what('publishAgain'), user, which: fc.nat(20) }),
  fc.record({
    what: what('resolve'),
    user,
    task: fc.constantFrom(...tasks),
    before: fc.option(hour, { nil: undefined }),
  }),
  fc.record({ what: what('dismiss'), user, which: fc.array(fc.nat(20), { maxLength: 3 }) }),
  fc.record({ what: what('updatePreferences'), user, kind: fc.option(fc.constantFrom(...kinds)), flags }),
  fc.record({ what: what('store'), user }),
  fc.record({ what: what('refresh'), user }),
  fc.record({ what: what('report'), user }),
  fc.record({ what: what('deleteCredential'), user }),
  fc.record({ what: what('putWorkspaces'), user, hours: fc.tuple(hour, hour) }),
  fc.record({ what: what('deleteWorkspace'), user, which: fc.nat(1), hour }),
);
export type Operation =
  | (typeof operations extends fc.Arbitrary<infer Value> ? Value : never)
  | { what: 'deleteUser'; user: number };

/** Returns the timestamp of an operation. No two operations have the same. */
export const timeAt = (hours: number, index: number) =>
  new Date(Date.UTC(2026, 0, 1, hours, 0, 0, index)).toISOString();

/** An operation of one kind. */
export type OperationOf<What extends Operation['what']> = Extract<Operation, { what: What }>;
