import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';

/** Copies an initialized cluster into a data directory, which is faster than initializing one. */
export async function copyCluster(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await copyFolder(inject('cluster'), join(dataDir, 'postgresql'));
}

/** Copies a folder; its files keep their owners, as PostgreSQL requires. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}
