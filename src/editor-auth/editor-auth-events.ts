import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '../database/database.ts';
import type { CredentialCipher } from '../encryption/credential-cipher.ts';
import type { Source } from '../live/stream.ts';
import { type EditorAuth, readEditorAuth } from './editor-auth.ts';

/** The state of a user's credential as it is, then each change of it. */
export function watchEditorAuth(
  em: EntityManager,
  cipher: CredentialCipher,
  userId: string,
): Source<EditorAuth> {
  let shown: EditorAuth | undefined;
  return {
    topic: 'editorAuth',
    // Before the first revision there is: the present state is shown even if there never was a credential.
    startsAt: () => -1,
    async read(_after, state) {
      const auth = await readEditorAuth(em, cipher, userId);
      const events = isDeepStrictEqual(auth, shown) ? [] : [auth];
      shown = auth;
      return { events, seen: state?.editorAuth ?? 0 };
    },
  };
}
