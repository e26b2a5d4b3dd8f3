import { type Collection, type Extent, FORGOTTEN } from './collection.ts';
import type { NotificationFilter, WorkspaceFilter } from './generated/types.ts';
import type { EditorConnection, NotificationCard, Preference, WorkspaceCard } from './records.ts';
import { type CountsWithCursor, emptyState, type State } from './state.ts';

type Records<Item, Filter> = {
  readonly items: readonly Item[];
  readonly lists: readonly (readonly [string, Extent<Filter>])[];
};

/** What an inbox had loaded on a server, as JSON. */
export type InitialData = {
  readonly account?: string;
  readonly notifications: Records<NotificationCard, NotificationFilter>;
  readonly workspaces: Records<WorkspaceCard, WorkspaceFilter>;
  readonly counts?: CountsWithCursor;
  readonly preferences?: readonly Preference[];
  readonly editorAuth?: EditorConnection;
};

/** Returns what is loaded of an account. */
export function dehydrate(state: State, account: string | undefined): InitialData {
  const { counts, preferences, editorAuth } = state;
  return {
    ...(account !== undefined && { account }),
    notifications: toRecords(state.notifications),
    workspaces: toRecords(state.workspaces),
    ...(counts && { counts: counts.value }),
    ...(preferences && { preferences: preferences.value }),
    ...(editorAuth && { editorAuth: editorAuth.value }),
  };
}

/** Returns a state that any reply or event replaces. */
export function hydrate({ notifications, workspaces, counts, preferences, editorAuth }: InitialData): State {
  const arrived = <Value>(value: Value | undefined) =>
    value === undefined ? undefined : { value, arrival: FORGOTTEN };
  return {
    ...emptyState,
    notifications: toCollection(notifications),
    workspaces: toCollection(workspaces),
    counts: arrived(counts),
    preferences: arrived(preferences),
    editorAuth: arrived(editorAuth),
  };
}

function toRecords<Item, Filter>({ entries, lists }: Collection<Item, Filter>): Records<Item, Filter> {
  return { items: [...entries.values()].flatMap(({ item }) => item ?? []), lists: [...lists] };
}

function toCollection<Item extends { readonly id: string }, Filter>({
  items,
  lists,
}: Records<Item, Filter>): Collection<Item, Filter> {
  const entries = items.map((item) => [item.id, { item, arrival: FORGOTTEN }] as const);
  return { entries: new Map(entries), lists: new Map(lists) };
}
