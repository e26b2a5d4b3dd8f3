import { setTimeout as pause } from 'node:timers/promises';
import type { DatabaseServer } from './database-server.ts';
import type { Cluster } from './embedded-cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { isServerRunning, stopPostmaster } from './embedded-postmaster.ts';
import { formatConnectionUrl, MAX_WAIT_MS, type Session, tryOpenSession } from './embedded-session.ts';
import { startPostmaster } from './start-postmaster.ts';

/** A server that exits more often has a persistent problem, which another restart does not fix. */
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 300_000;

const RETRY_MS = 200;

/**
 * Keeps the embedded server running: restarts it on the same port if it exits unexpectedly. `initial` is the database
 * session that makes this process the owner of the server.
 */
export function ownServer(
  cluster: Cluster,
  initial: Session,
  printLine: (line: string) => void,
): DatabaseServer {
  const { port } = initial.postmaster;
  const lost = Promise.withResolvers<unknown>();
  const restarts: number[] = [];
  let stopping: Promise<void> | undefined;
  let current: Promise<Session | undefined> = Promise.resolve(initial);

  // The session holds the lock that makes this process the owner. When any process of PostgreSQL crashes, all
  // connections are closed, and the lock is released.
  const watch = (session: Session): void => {
    session.client.once('end', () => {
      if (!stopping) current = recover();
    });
  };

  const recover = async (): Promise<Session | undefined> => {
    try {
      const session = await reopenSession();
      if (session) watch(session);
      return session;
    } catch (error) {
      lost.resolve(error);
      return undefined;
    }
  };

  const reopenSession = async (): Promise<Session | undefined> => {
    let deadline = performance.now() + MAX_WAIT_MS;
    while (!stopping && performance.now() < deadline) {
      const session = await tryOpenSession(cluster);
      if (session?.postmaster.port === port) return session;
      // Another process started this server on another port and was then killed, so that the server has no owner.
      if (session) await stopSession(cluster, session);
      const isRunning = await isServerRunning(cluster, port);
      // The server is recovering, which can take long, or another process has started it.
      if (isRunning) deadline = performance.now() + MAX_WAIT_MS;
      if (isRunning || !(await restart())) await pause(RETRY_MS);
    }
    if (stopping) return undefined;
    throw new EmbeddedPostgresError(
      `PostgreSQL on ${cluster.directory} exited and could not be restarted: ` +
        `another process uses its files or port ${port}. Stop that process, then start the gateway again.`,
    );
  };

  const restart = async (): Promise<boolean> => {
    const now = performance.now();
    const recent = restarts.filter((time) => now - time < RESTART_WINDOW_MS);
    if (recent.length >= MAX_RESTARTS) {
      throw new EmbeddedPostgresError(
        `PostgreSQL on ${cluster.directory} exited ${MAX_RESTARTS + 1} times within ${RESTART_WINDOW_MS / 60_000} minutes. ` +
          'Find the cause, such as a lack of memory, then start the gateway again.',
      );
    }
    const isServing = await startPostmaster(cluster, () => undefined, port);
    if (isServing) {
      restarts.push(now);
      printLine('PostgreSQL exited unexpectedly and was restarted.');
    }
    return isServing;
  };

  const stop = async (): Promise<void> => {
    const session = await current;
    if (session) await stopSession(cluster, session);
  };

  watch(initial);
  return {
    url: formatConnectionUrl(cluster, initial.postmaster),
    lost: lost.promise,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Releases the lock last, so that no other process takes over a server that is stopping. */
async function stopSession(cluster: Cluster, { client, postmaster }: Session): Promise<void> {
  await stopPostmaster(cluster, postmaster);
  await client.end();
}
