import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '../database/database.ts';
import type { Source } from '../live/stream.ts';
import type { CredentialCipher } from './credential-cipher.ts';
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
    async read() {
      const state = await readEditorAuth(em, cipher, userId);
      const events = isDeepStrictEqual(state, shown) ? [] : [state];
      shown = state;
      return { events, hasMore: false };
    },
  };
}
