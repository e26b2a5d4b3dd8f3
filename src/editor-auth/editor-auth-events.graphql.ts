import { memberStream } from '../auth/access.ts';
import { builder, userArgument } from '../graphql/builder.ts';
import { createSourceReader } from '../live/source.ts';
import { openStream } from '../live/stream.ts';
import { EditorAuthRef } from './editor-auth.graphql.ts';
import { createEditorAuthSource, type EditorAuthEvent } from './editor-auth-events.ts';

export const EditorAuthEventType = builder.objectRef<EditorAuthEvent>('EditorAuthEvent').implement({
  description: 'A change of an editor connection.',
  fields: (t) => ({
    editorAuth: t.expose('editorAuth', { type: EditorAuthRef, description: 'The current status.' }),
  }),
});

builder.subscriptionField('editorAuthEvents', (t) =>
  t.field({
    access: memberStream,
    type: EditorAuthEventType,
    description:
      "Delivers the current status of a user's editor connection, then each new status. Intermediate ones may be skipped. The stream ends when the token expires.",
    args: { userId: t.arg.id(userArgument) },
    subscribe: (_root, { userId }, context) => {
      const { database, cipher, viewer } = context;
      const user = userId ?? viewer.userId;
      return openStream(
        context,
        createSourceReader(database, user, createEditorAuthSource(database, cipher, user)),
      );
    },
    resolve: (event) => event,
  }),
);
