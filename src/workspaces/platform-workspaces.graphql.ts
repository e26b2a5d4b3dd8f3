import { platformRead } from '../auth/access.ts';
import { admitLargeReply } from '../graphql/admit-large-reply.ts';
import { builder } from '../graphql/builder.ts';
import { findByteShare } from '../graphql/byte-share.ts';
import { defineConnectionType, describeCount, readConnectionAcrossUsers } from '../graphql/connection.ts';
import { defineForwardArguments } from '../graphql/page-arguments.ts';
import { Platform } from '../graphql/platform.ts';
import { maxItems } from '../graphql/rules.ts';
import { findSelectedProperties } from '../graphql/selected-fields.ts';
import { isUuid } from '../values/text.ts';
import { countAllWorkspaces, listAllWorkspaces } from './all-workspaces.ts';
import { WorkspaceStatusEnum, WorkspaceType } from './workspaces.graphql.ts';
import { readWorkspaceTextsOfUsers } from './workspaces.ts';

const PlatformWorkspaceConnection = defineConnectionType('PlatformWorkspace', {
  node: WorkspaceType,
  record: 'workspace',
  acrossUsers: { totalCount: describeCount() },
});

const PlatformWorkspaceFilter = builder.inputType('PlatformWorkspaceFilter', {
  description: 'A filter of workspaces of all users.',
  fields: (t) => ({
    statuses: t.field({
      type: [WorkspaceStatusEnum],
      description: 'Filter by status. Defaults to all statuses. An empty list selects none.',
      validate: maxItems(100),
    }),
  }),
});

builder.objectField(Platform, 'workspaces', (t) =>
  t.field({
    access: platformRead,
    type: PlatformWorkspaceConnection,
    nullable: true,
    description:
      'Returns the workspaces of all users, newest first. A page may be shorter than requested although there is a next page, if its records exceed 16 MiB.',
    args: {
      ...defineForwardArguments(),
      filter: t.arg({ type: PlatformWorkspaceFilter, description: 'Defaults to all workspaces.' }),
    },
    resolve: (_platform, { filter, ...page }, context, info) => {
      const { database } = context;
      const selected = findSelectedProperties(info);
      return readConnectionAcrossUsers(page, {
        readRecords: (page) => listAllWorkspaces(database, filter?.statuses, page, selected),
        share: findByteShare(info),
        totalCount: () => countAllWorkspaces(database, filter?.statuses),
        isId: isUuid,
        texts: {
          readTexts: (ids, users) => readWorkspaceTextsOfUsers(database, { ids, users }, selected),
          admitLargeRead: (bytes) => admitLargeReply(context, bytes),
        },
      });
    },
  }),
);
