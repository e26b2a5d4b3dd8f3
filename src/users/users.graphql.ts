import { z } from 'zod';
import { platform, platformRead } from '../auth/access.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import { builder } from '../graphql/builder.ts';
import { describeCount, PageInfo } from '../graphql/connection.ts';
import { DEFAULT_PAGE_SIZE, defineForwardArguments } from '../graphql/page-arguments.ts';
import { Platform } from '../graphql/platform.ts';
import { boundedText } from '../graphql/rules.ts';
import { audit } from '../log.ts';
import { decodeCursor, encodeCursor } from '../values/cursor.ts';
import { isId, MAX_LENGTH } from '../values/text.ts';
import { deleteUser } from './delete-user.ts';
import { type UserNode, UserRef } from './user.graphql.ts';
import { countUsers, type ListedUser, listUsers } from './users.ts';

function toNode({ id: userId }: ListedUser): UserNode {
  return { userId, reader: 'platform', isListed: true };
}

const UserEdge = builder.objectRef<ListedUser>('UserEdge').implement({
  description: 'A user in a list, with its cursor.',
  fields: (t) => ({
    node: t.field({ type: UserRef, description: 'The user.', resolve: toNode }),
    cursor: t.string({ description: 'Cursor of the record, for `after`.', resolve: toCursor }),
  }),
});

type Users = { users: ListedUser[]; prefix: string; hasNextPage: boolean; hasPreviousPage: boolean };

const UserConnection = builder.objectRef<Users>('UserConnection').implement({
  description: 'A page of a list of users, sorted by ID.',
  fields: (t) => ({
    nodes: t.field({
      type: [UserRef],
      description: 'The users of the page.',
      resolve: ({ users }) => users.map(toNode),
    }),
    edges: t.expose('users', {
      type: [UserEdge],
      description: 'The users of the page, each with its cursor.',
    }),
    pageInfo: t.field({
      type: PageInfo,
      description: 'The position of the page in the list.',
      resolve: ({ users, hasNextPage, hasPreviousPage }) => ({
        hasNextPage,
        hasPreviousPage,
        startCursor: users.slice(0, 1).map(toCursor).at(0),
        endCursor: users.slice(-1).map(toCursor).at(0),
      }),
    }),
    totalCount: t.int({
      description: describeCount(),
      resolve: ({ prefix }, _args, { database }) => countUsers(database.fork(), prefix),
    }),
  }),
});

builder.objectField(Platform, 'users', (t) =>
  t.field({
    access: platformRead,
    type: UserConnection,
    nullable: true,
    description:
      'Returns the users, sorted by ID in code point order. A user is listed from the first change of their records until `deleteUser`. A mutation that changes nothing may list them too.',
    args: {
      prefix: t.arg.string(
        boundedText(
          "Filter by the beginning of the user's ID, case-sensitive. Defaults to all users.",
          MAX_LENGTH.name,
        ),
      ),
      ...defineForwardArguments(),
    },
    resolve: async (_platform, { prefix: given, first, after }, { database }) => {
      const prefix = given ?? '';
      const limit = first ?? DEFAULT_PAGE_SIZE;
      const position = after == null ? undefined : readPosition(after);
      const read = await listUsers(database.fork(), {
        prefix,
        after: position,
        limit: limit + 1,
      });
      return {
        users: read.slice(0, limit),
        prefix,
        hasNextPage: read.length > limit,
        hasPreviousPage: position !== undefined,
      };
    },
  }),
);

function toCursor({ id }: ListedUser): string {
  return encodeCursor([id]);
}

const CursorContent = z.tuple([z.string().refine(isId)]);

function readPosition(cursor: string): string {
  const [id] = decodeCursor(CursorContent, cursor) ?? [];
  if (id !== undefined) return id;
  throw new ValidationError([{ path: ['after'], message: 'must be a cursor of this list', value: cursor }]);
}

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
