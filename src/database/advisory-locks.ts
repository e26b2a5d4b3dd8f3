/** Keys of PostgreSQL advisory locks. They never change, because processes of several versions may use a database. */
export const advisoryLocks = {
  /** Held by the process that runs the embedded server. */
  embeddedServer: 7_204_981,
  migrations: 7_204_982,
  retention: 7_204_983,
  /** Held while positions are given to platform events. */
  positions: 7_204_985,
} as const;
