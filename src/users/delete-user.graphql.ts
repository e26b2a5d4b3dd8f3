import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { audit } from '../log.ts';
import { deleteUser } from './delete-user.ts';

const DeleteUserInput = builder.inputType('DeleteUserInput', {
  description: 'The user to delete.',
  fields: (t) => ({ userId: t.id({ required: true, description: "The user's ID." }) }),
});

const DeleteUserPayload = builder.objectRef<{ deleted: boolean }>('DeleteUserPayload').implement({
  description: "Result of deleting a user's data.",
  fields: (t) => ({
    deleted: t.exposeBoolean('deleted', { description: '`false` if no data of the user was stored.' }),
  }),
});

builder.mutationField('deleteUser', (t) =>
  t.field({
    access: platform('platform:admin'),
    type: DeleteUserPayload,
    nullable: true,
    description: "Deletes all data of a user and ends the user's live streams. This cannot be undone.",
    args: { input: t.arg({ type: DeleteUserInput, required: true, description: 'The user to delete.' }) },
    resolve: async (_root, { input: { userId } }, context) => {
      const { viewer, log } = context;
      const { deleted, hadCredential } = await deleteUser(context, userId);
      if (hadCredential) audit(log, 'editor_credential.deleted', viewer.userId, userId);
      audit(log, 'user.deleted', viewer.userId, userId);
      return { deleted };
    },
  }),
);
