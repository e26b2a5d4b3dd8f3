import { defineListRead, type Inputs } from '../database/read.ts';
import { type Selected, selectChosen } from '../database/selected.ts';
import {
  defineNextBatchRead,
  findBatches,
  type PositionsInput,
  selectInBatches,
} from '../revisions/stream-batches.ts';
import type { Notification } from './notification.entity.ts';

/** The properties that can hold long text. */
const texts = [
  'taskName',
  'projectName',
  'projectRepoUrl',
  'workspaceId',
  'title',
  'previewText',
  'prUrl',
  'payload',
] as const satisfies readonly (keyof Notification)[];

const always = ['id', 'kind', 'status', 'revision'] as const;

const findChanged = defineListRead((db, inputs: Inputs<PositionsInput>) => {
  const chosen = inputs.chosen('Notification', always);
  const batches = findBatches('Notification', inputs, texts, chosen);
  const changed = db.selectFrom('Notification').innerJoin(batches.as('batch'), (join) => join.onTrue());
  return selectInBatches(selectChosen(changed, always, chosen));
});

/** A notification with the selected properties. */
export type ChangedNotification = Selected<Notification, (typeof always)[number]>;

/**
 * Reads the next batch of a user's notifications that changed after a revision, in their current state and in the order
 * of their changes.
 */
export const readChangedNotifications = defineNextBatchRead<ChangedNotification>(findChanged);
