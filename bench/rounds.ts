import type { Options } from './options.ts';
import { reportProgress } from './output.ts';
import type { Sample } from './sample.ts';

/** A subject of a comparison. */
export type Subject = {
  title: string;
  run: () => Promise<Sample>;
  targets?: Targets;
};

/** The targets of the first subject, as ratios to another subject. */
export type Targets = {
  /** Minimum ratio of requests per second. */
  rate?: number;
  /** Maximum ratio of processor time per request, of server and PostgreSQL together. */
  cost?: number;
};

/** Subjects that do the same work. The first one is compared with each of the others. */
export type Comparison = { title: string; subjects: readonly Subject[] };

/** The samples of a comparison by subject and round. */
export type MeasuredComparison = { comparison: Comparison; samples: readonly Sample[][] };

/**
 * Measures comparisons in rounds. The subjects of a comparison run one after another, each round starting with a
 * different one, so that other load on the machine affects all of them equally.
 */
export async function runRounds(
  comparisons: readonly Comparison[],
  { rounds, warmUps }: Options,
): Promise<MeasuredComparison[]> {
  for (const { title, subjects } of comparisons) {
    reportProgress(`  warming up: ${title}`);
    for (const subject of subjects) {
      for (let run = 0; run < warmUps; run += 1) await subject.run();
    }
  }
  const measured = comparisons.map((comparison) => ({
    comparison,
    samples: comparison.subjects.map((): Sample[] => []),
  }));
  for (let round = 0; round < rounds; round += 1) {
    for (const { comparison, samples } of measured) {
      await runRound(comparison, samples, round);
      const rates = samples.map((own) => own.at(-1)?.perSecond.toFixed(1));
      reportProgress(
        `  round ${round + 1} of ${rounds}, ${comparison.title}: ${rates.join(', ')} requests/s`,
      );
    }
  }
  return measured;
}

async function runRound(
  { subjects }: Comparison,
  samples: readonly Sample[][],
  round: number,
): Promise<void> {
  const first = round % subjects.length;
  const order = [...subjects.keys()];
  for (const index of [...order.slice(first), ...order.slice(0, first)]) {
    const sample = await subjects[index]?.run();
    if (sample !== undefined) samples[index]?.push(sample);
  }
}
