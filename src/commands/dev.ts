import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { extendEnvironment, readConfig } from '../config.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { startDatabaseServer } from '../postgres/start-postgres.ts';
import { runCommand, say } from './run.ts';

/**
 * Serves, and starts the gateway anew whenever a file that it is made of changes. The database belongs to this
 * process, so it stays up meanwhile.
 */
runCommand('npm run dev', async () => {
  const { production, dataDir, ...config } = readConfig();
  if (production)
    throw new OperatorError('npm run dev is for development. Unset NODE_ENV, or run: npm start');
  const toldToStop = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  const database = await startDatabaseServer({ ...config, dataDir }, 'gateway', say);
  try {
    const watcher = spawnWatcher(
      extendEnvironment({ DATABASE_URL: database.url, NODE_COMPILE_CACHE: join(dataDir, 'compile-cache') }),
    );
    const ended = once(watcher, 'exit');
    const loss = await Promise.race([
      toldToStop.then(() => undefined),
      ended.then(() => undefined),
      database.lost,
    ]);
    watcher.kill();
    await ended;
    if (loss !== undefined) throw loss;
  } finally {
    await database.stop();
  }
});

/** To look whether any folder on the way to any module is a link would take a seventh of a start. */
const UNRESOLVED = ['--preserve-symlinks', '--preserve-symlinks-main'];

/**
 * Starts Node.js's own watcher, which starts the gateway. It watches the folders: to watch the files that are loaded,
 * it would be told of each of two thousand at every start.
 */
function spawnWatcher(env: NodeJS.ProcessEnv) {
  const resolvePath = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  const watched = ['../../src', '../../rest'].map((folder) => `--watch-path=${resolvePath(folder)}`);
  const withParent = new URL('end-with-parent.ts', import.meta.url).href;
  const options = [...watched, '--watch-preserve-output', ...UNRESOLVED, '--import', withParent];
  return spawn(process.execPath, [...options, resolvePath('../main.ts')], {
    env,
    // The pipe tells the gateway when this process is gone.
    stdio: ['pipe', 'inherit', 'inherit'],
    // Ctrl-C goes to a whole group: the gateway would be told to stop twice, and end at once.
    detached: true,
  });
}
