import type { Kysely } from 'kysely';
import type { EntityManager, Tables } from '../database/database.ts';
import {
  cutPage,
  type Page,
  type PageInput,
  pageInput,
  type StatusInput,
  statusInput,
  type Tagged,
} from '../database/page.ts';
import { type Inputs, prepared } from '../database/prepared.ts';
import { selectTag } from '../revisions/revisions.ts';
import type { Workspace, WorkspaceStatus } from './workspace.entity.ts';

/** Which of a user's workspaces; an empty list or none is no filter. */
export type WorkspaceFilter = {
  projectId?: string | null | undefined;
  status?: readonly WorkspaceStatus[] | null | undefined;
};

type FilterInput = StatusInput<WorkspaceStatus> & { userId: string; projectId: string | undefined };

function filterInput(userId: string, { projectId, status }: WorkspaceFilter): FilterInput {
  return { userId, projectId: projectId ?? undefined, ...statusInput(status) };
}

function matching(db: Kysely<Tables>, { slot, any, has }: Inputs<FilterInput>) {
  return db
    .selectFrom('Workspace')
    .where('userId', '=', slot('userId'))
    .$if(has('projectId'), (all) => all.where('projectId', '=', slot('projectId')))
    .$if(has('status'), (all) => all.where('status', '=', slot('status')))
    .$if(has('statuses'), (all) => all.where('status', '=', any('statuses')));
}

const list = prepared<FilterInput & PageInput, Tagged<Workspace>>((db, inputs) =>
  cutPage(matching(db, inputs).select(inputs.read('Workspace', 'id')), inputs).$if(
    inputs.has('tagged'),
    (all) => all.select(selectTag(db, 'workspaces', inputs.slot('userId')).as('tag')),
  ),
);

/** A user's workspaces over all projects, newest first; beside `id` only with the properties that are told to be read. */
export async function listWorkspaces(
  em: EntityManager,
  userId: string,
  filter: WorkspaceFilter,
  page: Page,
  reads?: ReadonlySet<string>,
): Promise<Tagged<Workspace>[]> {
  return list(em, { ...filterInput(userId, filter), ...pageInput(page) }, reads);
}

const count = prepared<FilterInput, { count: number }>((db, inputs) =>
  matching(db, inputs).select((eb) => eb.fn.countAll<number>().as('count')),
);

/** How many there are without paging. */
export async function countWorkspaces(
  em: EntityManager,
  userId: string,
  filter: WorkspaceFilter,
): Promise<number> {
  const [row] = await count(em, filterInput(userId, filter));
  return row?.count ?? 0;
}
