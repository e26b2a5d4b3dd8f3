import type { EditorConnection, Inbox } from '@workspace-account/client';
import { useInboxClient } from './inbox-provider.tsx';
import { type Loading, useResource } from './use-resource.ts';

/** The connection of the user's coding editor. */
export type UseEditorAuth = Loading & {
  /** `undefined` until it is loaded. */
  readonly editorAuth: EditorConnection | undefined;
  /** Stores a token pair. */
  connect: Inbox['connectEditor'];
  /** Deletes the token pair. */
  disconnect: Inbox['disconnectEditor'];
};

/**
 * Returns the connection of the user's coding editor, and keeps it up to date. Requires a token that names an
 * organization.
 */
export function useEditorAuth(): UseEditorAuth {
  const { editorAuth, connectEditor, disconnectEditor } = useInboxClient();
  const { data, isLoading, error } = useResource(editorAuth);
  return {
    editorAuth: data,
    isLoading,
    error,
    connect: connectEditor,
    disconnect: disconnectEditor,
    reload: editorAuth.reload,
  };
}
