/** A running PostgreSQL, embedded or external. */
export type DatabaseServer = {
  /** The URL of the gateway's database. */
  url: string;
  /** Resolves with the reason if the server exited and cannot be restarted. */
  lost: Promise<unknown>;
  /** If this process owns the server, stops it, which disconnects its clients. */
  stop(): Promise<void>;
};

/** Uses a server that another process owns. */
export function borrowServer(url: string): DatabaseServer {
  return { url, lost: new Promise(() => undefined), stop: async () => undefined };
}
