/** Connection timeouts in milliseconds. */
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

/** Limits how long slow clients can occupy connections and memory. */
export const timeouts: Timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the usual 60 s of proxies, so that the proxy closes idle connections first.
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1000,
  // The socket is destroyed after one to two times this value.
  stalledWriteTimeout: 30_000,
};
