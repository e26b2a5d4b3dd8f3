import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { notAheadRule, uuidRule } from '../graphql/rules.ts';
import { deleteWorkspace } from './delete-workspace.ts';

const DeleteWorkspaceInput = builder.inputType('DeleteWorkspaceInput', {
  description: 'The workspace to delete.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    id: t.id({ required: true, description: "The workspace's ID, a UUID.", validate: uuidRule }),
    deletedAt: t.field({
      type: 'DateTime',
      required: true,
      description: 'Timestamp of the deletion. At most five minutes in the future.',
      validate: notAheadRule,
    }),
  }),
});

const DeleteWorkspacePayload = builder.objectRef<{ deleted: boolean }>('DeleteWorkspacePayload').implement({
  description: 'Result of deleting a workspace.',
  fields: (t) => ({
    deleted: t.exposeBoolean('deleted', {
      description: '`false` if the workspace does not exist or was updated after `deletedAt`.',
    }),
  }),
});

builder.mutationField('deleteWorkspace', (t) =>
  t.field({
    access: platform('platform:workspaces'),
    type: DeleteWorkspacePayload,
    nullable: true,
    description:
      'Deletes a workspace. States that arrive later are ignored unless their `updatedAt` is newer than `deletedAt`.',
    args: {
      input: t.arg({ type: DeleteWorkspaceInput, required: true, description: 'The workspace to delete.' }),
    },
    resolve: async (_root, { input: { userId, id, deletedAt } }, context) => ({
      deleted: await deleteWorkspace(context, userId, id.toLowerCase(), deletedAt),
    }),
  }),
);
