import type { Options } from './options.ts';
import type { Sample } from './sample.ts';
import { tell } from './say.ts';

/** Somebody who takes part in a contest. */
export type Entrant = {
  title: string;
  run: () => Promise<Sample>;
  targets?: Targets;
};

/** What the first entrant is to reach against another. */
export type Targets = {
  /** The least that its requests a second may be of the other's. */
  rate?: number;
  /** The most that processor time of server and PostgreSQL for a request may be of the other's. */
  cost?: number;
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
  { rounds, warmUps }: Options,
): Promise<Played[]> {
  for (const { title, entrants } of contests) {
    tell(`  warming up: ${title}`);
    for (const entrant of entrants) {
      for (let run = 0; run < warmUps; run += 1) await entrant.run();
    }
  }
  const played = contests.map((contest) => ({ contest, samples: contest.entrants.map((): Sample[] => []) }));
  for (let round = 0; round < rounds; round += 1) {
    for (const { contest, samples } of played) {
      await playRound(contest, samples, round);
      const rates = samples.map((own) => own.at(-1)?.perSecond.toFixed(1));
      tell(`  round ${round + 1} of ${rounds}, ${contest.title}: ${rates.join(', ')} requests/s`);
    }
  }
  return played;
}

async function playRound({ entrants }: Contest, samples: readonly Sample[][], round: number): Promise<void> {
  const first = round % entrants.length;
  const turns = [...entrants.keys()];
  for (const index of [...turns.slice(first), ...turns.slice(0, first)]) {
    const sample = await entrants[index]?.run();
    if (sample !== undefined) samples[index]?.push(sample);
  }
}
