import type pg from 'pg';
import type { Caller, Callers } from './callers.ts';
import { type Contender, contenders } from './contenders.ts';
import type { Content } from './content.ts';
import type { LoadRequest } from './load-process.ts';
import type { Targets } from './rounds.ts';

/** How a contender does a work. */
export type Way = {
  /** What a caller asks, one after another. */
  requests: (caller: Caller) => LoadRequest[];
  /** What of a reply has to be equal with all contenders. */
  content: Content;
  /** What the gateway is to reach against this contender. */
  targets?: Targets;
};

/** Something that several contenders do. */
export type Work = {
  title: string;
  callers: (all: Callers) => readonly Caller[];
  /** At the same time; the callers are dealt out to them. */
  connections: number;
  /** A run lasts for a time, or until everything was asked once. */
  ends: 'by time' | 'when all is asked';
  ways: Partial<Record<Contender, Way>>;
  /** Brings the records to where every run begins. */
  prepare?: (client: pg.Client) => Promise<void>;
  /** What a request has changed, to be equal too. */
  effect?: (client: pg.Client, caller: Caller) => Promise<unknown>;
  /** @throws {Error} where a run did not do what it should */
  verify?: (client: pg.Client, callers: readonly Caller[]) => Promise<void>;
};

/** Who does a work and how, the gateway first. */
export function waysOf({ ways }: Work): { name: Contender; way: Way }[] {
  return contenders.flatMap((name) => {
    const way = ways[name];
    return way === undefined ? [] : [{ name, way }];
  });
}

/** What every connection sends, one after another, where the callers are dealt out to so many of them. */
export function deal(
  callers: readonly Caller[],
  connections: number,
  requests: (caller: Caller) => LoadRequest[],
): LoadRequest[][] {
  const lanes: LoadRequest[][] = Array.from({ length: connections }, () => []);
  for (const [index, caller] of callers.entries()) lanes[index % connections]?.push(...requests(caller));
  return lanes;
}
