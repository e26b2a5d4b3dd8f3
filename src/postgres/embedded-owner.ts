import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from './embedded-cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { isServerRunning, startPostmaster, stopPostmaster } from './embedded-postmaster.ts';
import { connectionUrl, MAX_WAIT_MS, retake, type Session } from './embedded-session.ts';

/** A running PostgreSQL. */
export type EmbeddedPostgres = {
  /** The `postgres://` address of the gateway's database on it. */
  url: string;
  /** Resolves with the reason if the server ended and cannot be started again; otherwise stays pending. */
  lost: Promise<unknown>;
  /** Stops the server if this process owns it, whatever clients are connected; otherwise only lets go of it. */
  stop(): Promise<void>;
};

/** A server that ends more often than this has a reason that another start does not remove. */
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 300_000;

const RETRY_MS = 200;

/** The server of a session that owns it. If it ends unexpectedly it is started again at the same address. */
export function ownServer(
  cluster: Cluster,
  taken: Session,
  notice: (line: string) => void,
): EmbeddedPostgres {
  const { port } = taken.postmaster;
  const lost = Promise.withResolvers<unknown>();
  const restarts: number[] = [];
  let stopping: Promise<void> | undefined;
  let held: Promise<Session | undefined> = Promise.resolve(taken);

  // PostgreSQL closes all connections when one of its processes crashes, and releases the lock with them.
  const watch = (session: Session): void => {
    session.client.once('end', () => {
      if (!stopping) held = hold();
    });
  };

  const hold = async (): Promise<Session | undefined> => {
    try {
      const session = await regain();
      if (session) watch(session);
      return session;
    } catch (error) {
      lost.resolve(error);
      return undefined;
    }
  };

  const regain = async (): Promise<Session | undefined> => {
    let deadline = performance.now() + MAX_WAIT_MS;
    do {
      const session = await retake(cluster);
      if (session?.postmaster.port === port) return session;
      // Another process started it at an address that nobody here uses, and was killed.
      if (session) await stopSession(cluster, session);
      if (await isServerRunning(cluster, port)) deadline = performance.now() + MAX_WAIT_MS;
      else if (await restart()) continue;
      await pause(RETRY_MS);
    } while (!stopping && performance.now() < deadline);
    if (stopping) return undefined;
    throw new EmbeddedPostgresError(
      `PostgreSQL on ${cluster.directory} ended and could not be started again: ` +
        `another process uses its files or port ${port}. Stop that process, then start the gateway again.`,
    );
  };

  const restart = async (): Promise<boolean> => {
    const now = performance.now();
    const recent = restarts.filter((time) => now - time < RESTART_WINDOW_MS);
    if (recent.length >= MAX_RESTARTS) {
      throw new EmbeddedPostgresError(
        `PostgreSQL on ${cluster.directory} ended ${MAX_RESTARTS + 1} times within ${RESTART_WINDOW_MS / 60_000} minutes ` +
          'and is not started again. Look for what ends it, such as a lack of memory, then start the gateway again.',
      );
    }
    const isServing = await startPostmaster(cluster, () => undefined, port);
    if (isServing) {
      restarts.push(now);
      notice('PostgreSQL ended unexpectedly and was started again.');
    }
    return isServing;
  };

  const stop = async (): Promise<void> => {
    const session = await held;
    if (session) await stopSession(cluster, session);
  };

  watch(taken);
  return {
    url: connectionUrl(cluster, taken.postmaster),
    lost: lost.promise,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** A server that another process is responsible for. */
export function borrowServer(url: string): EmbeddedPostgres {
  return { url, lost: new Promise(() => undefined), stop: async () => undefined };
}

/** The lock is held to the end, so that no process takes over a server that is about to stop. */
async function stopSession(cluster: Cluster, { client, postmaster }: Session): Promise<void> {
  await stopPostmaster(cluster, postmaster);
  await client.end();
}
