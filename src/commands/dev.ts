import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { extendEnvironment, readConfig } from '../config.ts';
import { startDatabaseServer } from '../database/database-server.ts';
import { OperatorError } from '../errors/failure.ts';
import { awaitStopSignal } from '../stop-signal.ts';
import { printLine, runCommand } from './run-command.ts';

/**
 * Runs the gateway and restarts it when a source file changes. PostgreSQL belongs to this process and keeps running.
 */
runCommand('npm run dev', {}, async () => {
  const { production, dataDir, ...config } = readConfig();
  if (production)
    throw new OperatorError('npm run dev is for development. Unset NODE_ENV, or run: npm start');
  const stopping = awaitStopSignal(['SIGINT', 'SIGTERM', 'SIGHUP']);
  const database = await startDatabaseServer({ ...config, dataDir }, 'own', printLine);
  try {
    const watcher = spawnWatcher(
      extendEnvironment({ DATABASE_URL: database.url, NODE_COMPILE_CACHE: join(dataDir, 'compile-cache') }),
    );
    const ended = once(watcher, 'exit');
    const loss = await Promise.race([stopping, ended.then(() => undefined), database.lost]);
    watcher.kill();
    await ended;
    if (loss !== undefined) throw loss;
  } finally {
    await database.stop();
  }
});

/** Resolving symbolic links takes a seventh of the start-up time. */
const PRESERVE_SYMLINKS = ['--preserve-symlinks', '--preserve-symlinks-main'];

/**
 * Starts the gateway with `node --watch-path`. Plain `--watch` is slower: at every start, the gateway would send the
 * names of its 2,000 loaded files to the watcher.
 */
function spawnWatcher(env: NodeJS.ProcessEnv) {
  const resolvePath = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  const watched = ['../../src', '../../rest'].map((folder) => `--watch-path=${resolvePath(folder)}`);
  const exitWithParent = new URL('exit-with-parent.ts', import.meta.url).href;
  const options = [...watched, '--watch-preserve-output', ...PRESERVE_SYMLINKS, '--import', exitWithParent];
  return spawn(process.execPath, [...options, resolvePath('../main.ts')], {
    env,
    // The pipe closes when this process exits.
    stdio: ['pipe', 'inherit', 'inherit'],
    // Ctrl-C signals the whole process group; as a member, the gateway would receive two signals and exit immediately.
    detached: true,
  });
}
