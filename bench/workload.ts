import type pg from 'pg';
import type { Caller, Callers } from './callers.ts';
import { type Contender, contenders } from './contenders.ts';
import type { LoadRequest } from './load-process.ts';
import type { Normalize } from './normalize.ts';
import type { Targets } from './rounds.ts';

/** How a contender performs a workload. */
export type Implementation = {
  /** Creates the requests of a caller. */
  requests: (caller: Caller) => LoadRequest[];
  /** Normalizes replies, which must be equal for all contenders. */
  normalize: Normalize;
  /** The gateway's targets against this contender. */
  targets?: Targets;
};

/** Work that several contenders perform. */
export type Workload = {
  title: string;
  callers: (all: Callers) => readonly Caller[];
  /** The number of concurrent connections, to which callers are distributed. */
  connections: number;
  /** Whether a run lasts for a time or until every request was sent once. */
  mode: 'timed' | 'once';
  implementations: Partial<Record<Contender, Implementation>>;
  /** Resets the records before each run. */
  prepare?: (client: pg.Client) => Promise<void>;
  /** Reads the changes of a request, which must be equal for all contenders. */
  readEffect?: (client: pg.Client, caller: Caller) => Promise<unknown>;
  /** @throws {Error} if a run did not make its changes */
  verify?: (client: pg.Client, callers: readonly Caller[]) => Promise<void>;
};

/** Lists the implementations of a workload, the gateway's first. */
export function listImplementations({
  implementations,
}: Workload): { name: Contender; implementation: Implementation }[] {
  return contenders.flatMap((name) => {
    const implementation = implementations[name];
    return implementation === undefined ? [] : [{ name, implementation }];
  });
}

/** Distributes callers to connections and returns the requests of each connection. */
export function distribute(
  callers: readonly Caller[],
  connections: number,
  requests: (caller: Caller) => LoadRequest[],
): LoadRequest[][] {
  const lanes: LoadRequest[][] = Array.from({ length: connections }, () => []);
  for (const [index, caller] of callers.entries()) lanes[index % connections]?.push(...requests(caller));
  return lanes;
}
