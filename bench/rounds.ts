import type { LoadResult } from './load-process.ts';

/** One run: what the load saw, and processor time of the server in microseconds a request. */
export type Sample = LoadResult & { cpuMicros: number };

/** Somebody who takes part in a contest. */
export type Entrant = {
  title: string;
  run: () => Promise<Sample>;
  /** The least that the first entrant's requests a second may be of this one's. */
  target?: number;
};

/** Entrants that do the same. The first is held against each of the others. */
export type Contest = { title: string; entrants: readonly Entrant[] };

/** A contest's samples, a list for every entrant in their order, a sample for every round. */
export type Played = { contest: Contest; samples: readonly Sample[][] };

/**
 * Plays the contests round by round. In a round the entrants of a contest run right after one another, each round
 * another first, so that whatever else the machine does hits all of them alike.
 */
export async function playRounds(
  contests: readonly Contest[],
  rounds: number,
  progress: (line: string) => void,
): Promise<Played[]> {
  const played = contests.map((contest) => ({ contest, samples: contest.entrants.map((): Sample[] => []) }));
  for (let round = 0; round < rounds; round += 1) {
    for (const { contest, samples } of played) {
      const told: string[] = [];
      for (const [turn] of contest.entrants.entries()) {
        const index = (round + turn) % contest.entrants.length;
        const sample = await contest.entrants[index]?.run();
        if (sample === undefined) continue;
        samples[index]?.push(sample);
        told[index] = sample.perSecond.toFixed(sample.perSecond < 100 ? 1 : 0);
      }
      progress(`  round ${round + 1} of ${rounds}, ${contest.title}: ${told.join(' | ')} requests/s`);
    }
  }
  return played;
}
