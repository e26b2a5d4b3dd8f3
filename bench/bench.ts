import type { Checkout, Issuer } from './gateway.ts';
import type { Options } from './options.ts';
import type { Postgres } from './postgres.ts';
import type { Users } from './records.ts';
import type { Server } from './server.ts';

/** What all measurements use. */
export type Bench = {
  options: Options;
  postgres: Postgres;
  issuer: Issuer;
  users: Users;
  /** The gateway, and the one that it is compared with. */
  checkouts: readonly Checkout[];
  /** Remembers what is stopped at the end, also after a failure. */
  keep<Stoppable extends Pick<Server, 'stop'>>(starting: Stoppable | Promise<Stoppable>): Promise<Stoppable>;
};

/** Returns a function that returns the processor time since now, per operation in microseconds. */
export async function startTiming({ postgres }: Pick<Bench, 'postgres'>, server: Server) {
  const read = () => Promise.all([server.processorTime(), postgres.processorTime()]);
  const before = await read();
  return async (operations: number) => {
    const after = await read();
    const micros = (index: 0 | 1) => ((after[index] - before[index]) * 1000) / operations;
    return { server: micros(0), postgres: micros(1) };
  };
}
