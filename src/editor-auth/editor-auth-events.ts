import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '../database/database.ts';
import type { CredentialCipher } from '../encryption/credential-cipher.ts';
import type { Source } from '../live/source.ts';
import { type EditorAuth, readEditorAuth } from './editor-auth.ts';

/** The state of a credential after a change. */
export type EditorAuthEvent = { editorAuth: EditorAuth };

/** The current state of a user's credential, then each change of it. */
export function watchEditorAuth(
  em: EntityManager,
  cipher: CredentialCipher,
  userId: string,
): Source<EditorAuthEvent> {
  let shown: EditorAuth | undefined;
  return {
    userId,
    topic: 'editorAuth',
    // Before the first revision there is: the present state is shown even if there never was a credential.
    getStartRevision: () => -1,
    async read(_after, state) {
      const editorAuth = await readEditorAuth(em, cipher, userId);
      const events = isDeepStrictEqual(editorAuth, shown) ? [] : [{ editorAuth }];
      shown = editorAuth;
      return { events, seen: state?.editorAuth ?? 0 };
    },
  };
}
