/** Milliseconds after which a connection that does not get on is given up. */
export type Timeouts = Readonly<
  Record<
    | 'headersTimeout'
    | 'requestTimeout'
    | 'keepAliveTimeout'
    | 'connectionsCheckingInterval'
    | 'stalledWriteTimeout',
    number
  >
>;

/** A client that sends its request byte by byte holds a connection no longer than this. */
export const timeouts: Timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the minute that proxies commonly keep a connection for.
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1000,
  // A client that does not read holds a reply in memory no longer than twice this.
  stalledWriteTimeout: 30_000,
};
