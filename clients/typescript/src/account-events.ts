import type { EditorConnection, NotificationCard, WorkspaceCard } from './records.ts';
import type { CountsWithCursor } from './state.ts';

/** What changed. Later versions of the gateway may have other types. */
export type EventContent =
  | { readonly __typename: 'StreamStart'; readonly resumed: boolean }
  | { readonly __typename: 'NotificationEvent'; readonly notification: NotificationCard }
  | ({ readonly __typename: 'NotificationCounts' } & CountsWithCursor)
  | {
      readonly __typename: 'WorkspaceEvent';
      readonly workspaceId: string;
      readonly workspace: WorkspaceCard | null;
    }
  | { readonly __typename: 'EditorAuthEvent'; readonly editorAuth: EditorConnection };

/** The events of the account, from now on or after a cursor. */
export const AccountEvents = {
  text: `subscription AccountEvents($after: String) { accountEvents(after: $after) { cursor } }`,
};

/** A change of the account. */
export type AccountEvent = {
  /** Resumes after this event. */
  readonly cursor: string;
  readonly content: EventContent;
};

const KNOWN_CONTENTS: readonly string[] = [
  'StreamStart',
  'NotificationEvent',
  'NotificationCounts',
  'WorkspaceEvent',
  'EditorAuthEvent',
] satisfies readonly EventContent['__typename'][];

/** Whether this version of the client knows the content of an event. */
export function isKnownEvent({ content }: AccountEvent): boolean {
  return KNOWN_CONTENTS.includes(content.__typename);
}

/** Whether changes before the event may have been missed. */
export function hasGap(event: AccountEvent): boolean {
  return !isKnownEvent(event) || (event.content.__typename === 'StreamStart' && !event.content.resumed);
}
