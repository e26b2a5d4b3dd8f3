import type pg from 'pg';
import { collectors, readers, writers } from './callers.ts';
import { ENCRYPTION_KEY_ID } from './contenders.ts';
import { finishDataSet, insertCredentials, insertNotifications, insertWorkspaces } from './data-set.ts';

/** 50 users of 400 notifications and 100 workspaces, 32 with notifications to dismiss, one of 10,000 workspaces. */
export async function fill(client: pg.Client): Promise<void> {
  await insertNotifications(client, readers);
  await insertNotifications(client, writers, 'active');
  await insertWorkspaces(client, { ...readers, each: 100 });
  await insertWorkspaces(client, collectors);
  await insertCredentials(client, readers, ENCRYPTION_KEY_ID);
  await finishDataSet(client);
}
