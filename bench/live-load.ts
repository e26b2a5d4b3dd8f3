import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LiveLoadReport, LiveOrder, LiveRun } from './live-load-process.ts';

/** Subscribers and publishers in one process, so that one clock measures how long events take. */
export type LiveLoad = {
  /** Opens a stream for every user. @throws {Error} if one is refused */
  subscribe(order: Omit<Extract<LiveOrder, { kind: 'subscribe' }>, 'kind'>): Promise<void>;
  /** Publishes at a rate, and waits for the events. @throws {Error} if a reply is no success or a stream ends */
  publish(order: Omit<Extract<LiveOrder, { kind: 'publish' }>, 'kind'>): Promise<LiveRun>;
  stop(): Promise<void>;
};

/** Starts the process. */
export function startLiveLoad(): LiveLoad {
  const child = fork(fileURLToPath(new URL('./live-load-process.ts', import.meta.url)), { execArgv: [] });
  const ended = once(child, 'close');

  const send = (order: LiveOrder) =>
    new Promise<LiveLoadReport>((resolve, reject) => {
      const gone = () => reject(new Error('The process of the load ended.'));
      child.once('exit', gone).once('message', (report: LiveLoadReport) => {
        child.off('exit', gone);
        if (report.kind === 'failed') reject(new Error(report.message));
        else resolve(report);
      });
      child.send(order);
    });

  return {
    async subscribe(order) {
      await send({ kind: 'subscribe', ...order });
    },
    async publish(order) {
      const report = await send({ kind: 'publish', ...order });
      if (report.kind !== 'published') throw new Error('The process of the load sent another report.');
      return report.run;
    },
    async stop() {
      child.kill();
      await ended;
    },
  };
}
