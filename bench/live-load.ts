import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LiveCommand, LiveLoadReport, LiveRun } from './live-load-process.ts';

/** A process of subscribers and publishers, so that one clock measures delays. */
export type LiveLoad = {
  /** Opens a stream for every user. @throws {Error} if one is rejected */
  subscribe(command: Omit<Extract<LiveCommand, { kind: 'subscribe' }>, 'kind'>): Promise<void>;
  /** Publishes at a rate and waits for the events. */
  publish(command: Omit<Extract<LiveCommand, { kind: 'publish' }>, 'kind'>): Promise<LiveRun>;
  stop(): Promise<void>;
};

/** Starts the process. */
export function startLiveLoad(): LiveLoad {
  const child = fork(fileURLToPath(new URL('./live-load-process.ts', import.meta.url)), { execArgv: [] });
  const ended = once(child, 'close');

  const send = (command: LiveCommand) =>
    new Promise<LiveLoadReport>((resolve, reject) => {
      const onExit = () => reject(new Error('The load process exited.'));
      child.once('exit', onExit).once('message', (report: LiveLoadReport) => {
        child.off('exit', onExit);
        if (report.kind === 'failed') reject(new Error(report.message));
        else resolve(report);
      });
      child.send(command);
    });

  return {
    async subscribe(command) {
      await send({ kind: 'subscribe', ...command });
    },
    async publish(command) {
      const report = await send({ kind: 'publish', ...command });
      if (report.kind !== 'published') throw new Error('The load process sent an unexpected report.');
      return report.run;
    },
    async stop() {
      child.kill();
      await ended;
    },
  };
}
