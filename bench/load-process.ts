import autocannon from 'autocannon';

/** A request as a client sends it. */
export type LoadRequest = {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  headers: Record<string, string>;
  body?: string;
};

/**
 * What the process is told: a connection for every lane, each sending its lane's requests one after another, over and
 * over for so many seconds, or each of them once.
 */
export type LoadOrder = { address: string; lanes: readonly LoadRequest[][]; seconds: number | 'once' };

/** What came of it: replies a second, and milliseconds until half and all but a hundredth of them were there. */
export type LoadResult = { replies: number; perSecond: number; p50: number; p99: number };

/** What the process tells. */
export type LoadReport = { kind: 'done'; result: LoadResult } | { kind: 'failed'; message: string };

/** Replies to requests that wait for many others may take long. */
const TIMEOUT_SECONDS = 600;

async function run({ address, lanes, seconds }: LoadOrder): Promise<LoadResult> {
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
        // How often it looks whether it is done, in milliseconds.
        sampleInt: 50,
        // GraphQL tells of some errors in a reply that is 200.
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
    throw new Error(`${result.errors} broken connections and ${bad} bad replies: ${statuses}`);
  }
  // Between the first reply and the last: neither the making of connections counts, nor the looking for the end.
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

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (result) => report({ kind: 'done', result }),
    (error: unknown) => report({ kind: 'failed', message: String(error) }),
  );
});
