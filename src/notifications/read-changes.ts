import { defineListRead, type ReadParams, type Selected, selectProperties } from '../database/read.ts';
import {
  defineNextBatchRead,
  findBatches,
  type PositionsInput,
  selectInBatches,
} from '../live/stream-batches.ts';
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
  'answer',
  'onExpiry',
] as const satisfies readonly (keyof Notification)[];

const always = ['id', 'kind', 'status', 'revision', 'requestState'] as const;

const findChanged = defineListRead((db, params: ReadParams<PositionsInput>) => {
  const selected = params.selected('Notification', always);
  const batches = findBatches('Notification', params, texts, selected);
  const changed = db.selectFrom('Notification').innerJoin(batches.as('batch'), (join) => join.onTrue());
  return selectInBatches(selectProperties(changed, always, selected));
});

/** A notification with the selected properties. */
export type ChangedNotification = Selected<Notification, (typeof always)[number]>;

/**
 * Reads the next batch of a user's notifications that changed after a revision, in their current state and in the order
 * of their changes.
 */
export const readChangedNotifications = defineNextBatchRead<ChangedNotification>(findChanged);
