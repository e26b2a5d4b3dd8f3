import type pg from 'pg';
import { collectors, readers, recipients, writers } from './callers.ts';
import { ENCRYPTION_KEY_ID } from './contenders.ts';
import {
  finishDataSet,
  insertCredentials,
  insertNotifications,
  insertTargets,
  insertWorkspaces,
} from './data-set.ts';

/** Inserts the data set. `workspaces` is the number of workspaces of each collector. */
export async function fill(client: pg.Client, workspaces: number = collectors.each): Promise<void> {
  await insertNotifications(client, readers);
  await insertNotifications(client, writers, 'active');
  await insertWorkspaces(client, { ...readers, each: 100 });
  await insertWorkspaces(client, { ...collectors, each: workspaces });
  await insertCredentials(client, readers, ENCRYPTION_KEY_ID);
  await insertTargets(client, recipients, ENCRYPTION_KEY_ID);
  await finishDataSet(client);
}
