import { accountRead, platformRead } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { defineSingletonRef } from '../graphql/record-ref.ts';
import { type ListOwner, viewerNode } from '../graphql/user-list.ts';
import { findRevisions } from '../revisions/revisions.ts';

/** A user whose records an operation selects. */
export type UserNode = ListOwner;

/** The type `User`. Every feature adds the fields that lead to its own records. */
export const UserRef = builder.objectRef<UserNode>('User').implement({
  description:
    'A user. Exists from the first change of their records until `deleteUser`; as `viewer` in any case. Fields that lead to records are `null` if they fail.',
  fields: (t) => ({
    id: t.exposeID('userId', { description: "The user's ID." }),
    ref: t.field(defineSingletonRef<UserNode>('User')),
  }),
});

builder.queryFields((t) => ({
  viewer: t.field({
    access: accountRead,
    type: UserRef,
    nullable: true,
    description: 'Returns the caller.',
    resolve: (_root, _args, context) => viewerNode(context),
  }),
  user: t.field({
    access: platformRead,
    type: UserRef,
    nullable: true,
    description: 'Returns a user; `null` if there is none with this ID.',
    args: { id: t.arg.id({ required: true, description: "The user's ID." }) },
    resolve: async (_root, { id: userId }, { database }) =>
      (await findRevisions(database, userId)) && ({ userId, reader: 'platform', isListed: false } as const),
  }),
}));
