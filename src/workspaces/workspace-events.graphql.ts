import { accountStream } from '../auth/access.ts';
import { builder, userArgument } from '../graphql/builder.ts';
import { findSelectedProperties, readBySubfields } from '../graphql/selected-fields.ts';
import { createSourceReader } from '../live/source.ts';
import { openStream } from '../live/stream.ts';
import { createWorkspaceSource, type WorkspaceEvent } from './workspace-events.ts';
import { WorkspaceType } from './workspaces.graphql.ts';

export const WorkspaceEventType = builder.objectRef<WorkspaceEvent>('WorkspaceEvent').implement({
  description: 'A change of a workspace.',
  fields: (t) => ({
    workspaceId: t.exposeID('id', { description: "The workspace's ID." }),
    workspace: t.expose('workspace', {
      type: WorkspaceType,
      nullable: true,
      description: 'The workspace in its current state. `null` if it was deleted.',
      extensions: readBySubfields,
    }),
  }),
});

builder.subscriptionField('workspaceEvents', (t) =>
  t.field({
    access: accountStream,
    type: WorkspaceEventType,
    description:
      "Delivers all of a user's workspaces in their current state, then the new state of each workspace that changes. Intermediate states may be skipped. The stream ends when the token expires.",
    args: { userId: t.arg.id(userArgument) },
    subscribe: (_root, { userId }, context, info) => {
      const { database, viewer } = context;
      const user = userId ?? viewer.userId;
      const source = createWorkspaceSource(database, user, findSelectedProperties(info));
      return openStream(context, createSourceReader(database, user, source));
    },
    resolve: (event) => event,
  }),
);
