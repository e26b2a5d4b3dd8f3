import { platformRead } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { defineConnectionType, describeCount, readConnectionAcrossUsers } from '../graphql/connection.ts';
import { defineForwardArguments } from '../graphql/page-arguments.ts';
import { Platform } from '../graphql/platform.ts';
import { maxItems } from '../graphql/rules.ts';
import { findSelectedProperties } from '../graphql/selected-fields.ts';
import { isUuid } from '../values/text.ts';
import { countAllWorkspaces, listAllWorkspaces } from './all-workspaces.ts';
import { WorkspaceStatusEnum, WorkspaceType } from './workspaces.graphql.ts';

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
    description: 'Returns the workspaces of all users, newest first.',
    args: {
      ...defineForwardArguments(),
      filter: t.arg({ type: PlatformWorkspaceFilter, description: 'Defaults to all workspaces.' }),
    },
    resolve: (_platform, { filter, ...page }, context, info) => {
      const { database } = context;
      const selected = findSelectedProperties(info);
      return readConnectionAcrossUsers(page, {
        readRecords: (page) => listAllWorkspaces(database, filter?.statuses, page, selected),
        totalCount: () => countAllWorkspaces(database, filter?.statuses),
        isId: isUuid,
      });
    },
  }),
);
