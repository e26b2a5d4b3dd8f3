import { isDeepStrictEqual } from 'node:util';
import type { Database } from '../database/database.ts';
import type { CredentialCipher } from '../encryption/credential-cipher.ts';
import type { Source } from '../live/source.ts';
import { type EditorAuth, readEditorAuth } from './editor-auth.ts';

/** The status of a credential after a change. */
export type EditorAuthEvent = { editorAuth: EditorAuth; revision: number };

/** The events of a user's credential: first the current status, then each status that differs from the last one. */
export function createEditorAuthSource(
  database: Database,
  cipher: CredentialCipher,
  userId: string,
): Source<EditorAuthEvent> {
  let last: EditorAuth | undefined;
  return {
    topic: 'editorAuth',
    // Below the first revision, so that the current status is sent even if there never was a credential.
    getStartRevision: () => -1,
    async read(_after, revisions) {
      const editorAuth = await readEditorAuth(database, cipher, userId);
      const revision = revisions?.editorAuth ?? 0;
      const events = isDeepStrictEqual(editorAuth, last) ? [] : [{ editorAuth, revision }];
      last = editorAuth;
      return { events, seen: revision };
    },
  };
}
