import autocannon from 'autocannon';

/** A request. */
export type LoadRequest = {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  headers: Record<string, string>;
  body?: string;
};

/**
 * Opens a connection per lane, which sends the requests of the lane in order, each once. Returns the replies per second,
 * and the 99th percentile of latencies in milliseconds.
 * @throws {Error} if a request fails
 */
export async function runLoad(url: string, lanes: readonly (readonly LoadRequest[])[]) {
  const waiting = [...lanes];
  const times: number[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<autocannon.Result>();
  const options: autocannon.Options = {
    url,
    connections: lanes.length,
    amount: lanes.flat().length,
    timeout: 60,
    bailout: 1,
    // The interval in milliseconds at which autocannon checks whether it is done.
    sampleInt: 20,
    // GraphQL errors can have status 200.
    verifyBody: (body) => body === undefined || !body.includes('"errors":['),
    setupClient: (client) => client.setRequests([...(waiting.pop() ?? [])]),
  };
  const load = autocannon(options, (error, result) => (error ? reject(error) : resolve(result)));
  load.on('response', () => times.push(performance.now()));
  const { errors, non2xx, mismatches, latency, statusCodeStats } = await promise;
  if (errors + non2xx + mismatches > 0 || times.length === 0) {
    const statuses = JSON.stringify(statusCodeStats ?? {});
    throw new Error(`${errors} connection errors, ${non2xx + mismatches} unsuccessful replies: ${statuses}`);
  }
  // From the first reply to the last, to exclude connecting and the detection of the end.
  const took = (times.at(-1) ?? 0) - (times[0] ?? 0);
  return { 'requests/s': ((times.length - 1) * 1000) / took, 'p99, ms': latency.p99 };
}
