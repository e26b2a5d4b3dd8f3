/** The keys of PostgreSQL's advisory locks. All gateways share them, so that a key never changes. */
export const advisoryLocks = {
  /** Held for as long as a process owns the embedded server. */
  embeddedServer: 7_204_981,
  migrations: 7_204_982,
  retention: 7_204_983,
} as const;
