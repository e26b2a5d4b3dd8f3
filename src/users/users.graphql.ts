import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { audit } from '../log.ts';
import { deleteUser } from './users.ts';

const DeleteUserInput = builder.inputType('DeleteUserInput', {
  description: 'A user whose data shall be removed.',
  fields: (t) => ({ userId: t.id({ required: true, description: 'Which user.' }) }),
});

const DeleteUserPayload = builder.objectRef<{ deleted: boolean }>('DeleteUserPayload').implement({
  description: 'What became of the removal.',
  fields: (t) => ({
    deleted: t.exposeBoolean('deleted', { description: 'False where nothing was kept of the user.' }),
  }),
});

builder.mutationField('deleteUser', (t) =>
  t.field({
    access: platform('platform:write'),
    type: DeleteUserPayload,
    nullable: true,
    description: "Removes all of a user's data and ends their subscriptions. It cannot be undone.",
    args: { input: t.arg({ type: DeleteUserInput, required: true, description: 'Which user.' }) },
    resolve: async (_root, { input: { userId } }, context) => {
      const { viewer, log } = context;
      const { deleted, hadCredential } = await deleteUser(context, userId);
      if (hadCredential) audit(log, 'editor_credential.deleted', viewer.userId, userId);
      audit(log, 'user.deleted', viewer.userId, userId);
      return { deleted };
    },
  }),
);
