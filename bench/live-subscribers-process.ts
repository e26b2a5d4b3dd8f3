import { Agent } from 'node:http';
import { type Arrival, subscribe } from './live-subscriber.ts';
import { preciseNow } from './statistics.ts';

/** What the process is told: to open a stream for every token. */
export type Order = { address: string; tokens: readonly string[] };

/** What the process tells. */
export type Report =
  | { kind: 'open'; count: number }
  | ({ kind: 'arrived'; at: number } & Arrival)
  | { kind: 'failed'; message: string };

/** Subscribers that wait for their stream's begin at the same time. */
const AT_ONCE = 50;

const report = (message: Report): void => {
  process.send?.(message);
};
const fail = (error: unknown): void => report({ kind: 'failed', message: String(error) });

async function open({ address, tokens }: Order): Promise<void> {
  const agent = new Agent({ keepAlive: false });
  const waiting = [...tokens];
  let count = 0;
  const openNext = async (): Promise<void> => {
    for (let token = waiting.pop(); token !== undefined; token = waiting.pop()) {
      await subscribe(address, token, agent, arrive, fail);
      count += 1;
      if (count % 500 === 0 || count === tokens.length) report({ kind: 'open', count });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, openNext));
}

function arrive(arrival: Arrival): void {
  report({ kind: 'arrived', at: preciseNow(), ...arrival });
}

process.on('message', (order: Order) => void open(order).catch(fail));
