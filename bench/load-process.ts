import autocannon from 'autocannon';

/** A request. */
export type LoadRequest = {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  headers: Record<string, string>;
  body?: string;
};

/**
 * A command to this process. Opens a connection per lane and sends the lane's requests in order, each `once` or
 * repeatedly for a number of seconds.
 */
export type LoadCommand = { address: string; lanes: readonly LoadRequest[][]; seconds: number | 'once' };

/** The number of replies, replies per second, and latencies in milliseconds. */
export type LoadResult = { replies: number; perSecond: number; p50: number; p99: number };

/** A report of this process. */
export type LoadReport = { kind: 'done'; result: LoadResult } | { kind: 'failed'; message: string };

/** Long, because requests may wait for many others. */
const TIMEOUT_SECONDS = 600;

async function run({ address, lanes, seconds }: LoadCommand): Promise<LoadResult> {
  const waiting = [...lanes];
  const times: number[] = [];
  const amount = lanes.reduce((sum, lane) => sum + lane.length, 0);
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const load = autocannon(
      {
        url: address,
        connections: lanes.length,
        ...(seconds === 'once' ? { amount } : { duration: seconds }),
        timeout: TIMEOUT_SECONDS,
        bailout: 1,
        // The interval in milliseconds at which autocannon checks whether it is done.
        sampleInt: 50,
        // GraphQL errors can have status 200.
        verifyBody: (body) => body === undefined || !body.includes('"errors":['),
        setupClient: (client) => client.setRequests(waiting.pop() ?? []),
      },
      (error, result) => (error ? reject(error) : resolve(result)),
    );
    load.on('response', () => times.push(performance.now()));
  });
  const bad = result.non2xx + result.mismatches;
  if (result.errors > 0 || bad > 0 || result['2xx'] === 0) {
    const statuses = JSON.stringify(result.statusCodeStats ?? {});
    throw new Error(`${result.errors} connection errors and ${bad} unsuccessful replies: ${statuses}`);
  }
  // From the first reply to the last, to exclude connecting and the detection of the end.
  const [first = 0] = times;
  const took = (times.at(-1) ?? 0) - first;
  return {
    replies: times.length,
    perSecond: ((times.length - 1) * 1000) / took,
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
}

const report = (message: LoadReport): void => {
  process.send?.(message);
};

process.on('message', (command: LoadCommand) => {
  run(command).then(
    (result) => report({ kind: 'done', result }),
    (error: unknown) => report({ kind: 'failed', message: String(error) }),
  );
});
