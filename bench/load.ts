import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LoadCommand, LoadReport, LoadResult } from './load-process.ts';

/** autocannon in a process, which stays warm between commands. */
export type Load = {
  /** @throws {Error} if a request fails */
  run(command: LoadCommand): Promise<LoadResult>;
  stop(): Promise<void>;
};

/** Starts the process. */
export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('./load-process.ts', import.meta.url)), { execArgv: [] });
  const ended = once(child, 'close');
  return {
    run: (command) =>
      new Promise((resolve, reject) => {
        const settle = (report: LoadReport) => {
          child.off('exit', onExit);
          if (report.kind === 'done') resolve(report.result);
          else reject(new Error(report.message));
        };
        const onExit = () => reject(new Error('The load process exited.'));
        child.once('message', settle).once('exit', onExit);
        child.send(command);
      }),
    async stop() {
      child.kill();
      await ended;
    },
  };
}
