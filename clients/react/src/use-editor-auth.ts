import type { EditorConnection, StoreEditorSubscriptionInput } from '@workspace-account/client';
import { useMemo } from 'react';
import { useInboxClient } from './inbox-provider.tsx';
import { type Changed, type Changing, useChange } from './use-change.ts';
import { type Loading, useResource } from './use-resource.ts';

/** The connection of the user's coding editor. The promises do not reject: `change.error` has the reason of a failure. */
export type UseEditorAuth = Loading &
  Changing & {
    /** `undefined` until it is loaded. */
    readonly editorAuth: EditorConnection | undefined;
    /** Stores a token pair. */
    connect(subscription: StoreEditorSubscriptionInput): Promise<Changed<void>>;
    /** Deletes the token pair. */
    disconnect(): Promise<Changed<void>>;
  };

/**
 * Returns the connection of the user's coding editor, and keeps it up to date. Requires a token that names an
 * organization.
 */
export function useEditorAuth(): UseEditorAuth {
  const { editorAuth, connectEditor, disconnectEditor } = useInboxClient();
  const { data, isLoading, error } = useResource(editorAuth);
  const { change, track } = useChange();
  const actions = useMemo(
    (): Pick<UseEditorAuth, 'connect' | 'disconnect'> => ({
      connect: (subscription) => track(connectEditor(subscription)),
      disconnect: () => track(disconnectEditor()),
    }),
    [track, connectEditor, disconnectEditor],
  );
  return { editorAuth: data, isLoading, error, ...actions, change, reload: editorAuth.reload };
}
