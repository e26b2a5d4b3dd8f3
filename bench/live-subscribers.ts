import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Arrival } from './live-subscriber.ts';
import type { Order, Report } from './live-subscribers-process.ts';

/** Subscribers in a process of their own. */
export type Subscribers = {
  /** Every event that has arrived, with the time of its arrival; one that comes twice stands here twice. */
  readonly arrivals: readonly (Arrival & { at: number })[];
  /** Why a stream was cut, where one was. */
  readonly failures: readonly string[];
  /** Cuts all streams. */
  stop(): Promise<void>;
};

/**
 * Opens a stream for every token, and resolves when all have begun.
 * @throws {Error} where one is refused
 */
export async function openSubscribers(order: Order, progress: (count: number) => void): Promise<Subscribers> {
  const arrivals: (Arrival & { at: number })[] = [];
  const failures: string[] = [];
  const child = fork(fileURLToPath(new URL('./live-subscribers-process.ts', import.meta.url)), {
    execArgv: [],
  });
  const ended = once(child, 'close');
  const opened = new Promise<void>((resolve, reject) => {
    child.on('message', (report: Report) => {
      if (report.kind === 'arrived') arrivals.push(report);
      else if (report.kind === 'open') {
        progress(report.count);
        if (report.count === order.tokens.length) resolve();
      } else {
        failures.push(report.message);
        reject(new Error(report.message));
      }
    });
    child.on('exit', () => reject(new Error('The process of the subscribers ended.')));
  });
  child.send(order);
  const stop = async () => {
    child.kill();
    await ended;
  };
  try {
    await opened;
  } catch (error) {
    await stop();
    throw error;
  }
  return { arrivals, failures, stop };
}
