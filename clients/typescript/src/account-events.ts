import type { AccountEventsSubscription } from './generated/types.ts';

/** A change of the account, with the cursor that resumes the stream after it. */
export type AccountEvent = AccountEventsSubscription['accountEvents'];

const KNOWN_CONTENTS: readonly string[] = [
  'StreamStart',
  'NotificationEvent',
  'NotificationCounts',
  'WorkspaceEvent',
  'EditorAuthEvent',
] satisfies readonly AccountEvent['content']['__typename'][];

/** Whether changes before the event may have been missed, or it is a change that this version does not know. */
export function hasGap({ content }: AccountEvent): boolean {
  if (content.__typename === 'StreamStart') return !content.resumed;
  return !KNOWN_CONTENTS.includes(content.__typename);
}
