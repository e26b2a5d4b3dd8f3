import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LoadOrder, LoadReport, LoadResult } from './load-process.ts';

/** autocannon in a process of its own, warm from one order to the next. */
export type Load = {
  /** @throws {Error} where a reply is no success, or none comes */
  run(order: LoadOrder): Promise<LoadResult>;
  stop(): Promise<void>;
};

/** Starts the process. */
export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('./load-process.ts', import.meta.url)), { execArgv: [] });
  const ended = once(child, 'close');
  return {
    run: (order) =>
      new Promise((resolve, reject) => {
        const settle = (report: LoadReport) => {
          child.off('exit', gone);
          if (report.kind === 'done') resolve(report.result);
          else reject(new Error(report.message));
        };
        const gone = () => reject(new Error('The process of the load ended.'));
        child.once('message', settle).once('exit', gone);
        child.send(order);
      }),
    async stop() {
      child.kill();
      await ended;
    },
  };
}
