import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnswerRaces, startAnswerRaces } from './answer-race.ts';

const ROUNDS = 100;

/** A gateway takes longer to start than a race. */
const KILL_EVERY = 4;

let races: AnswerRaces;
beforeAll(async () => {
  races = await startAnswerRaces();
});
afterAll(() => races.close());

test(`in ${ROUNDS} races of 24 answers, one wins, and all callers receive it`, async () => {
  expect.hasAssertions();
  for (let round = 1; round <= ROUNDS; round += 1)
    await races.run(round, { kills: round % KILL_EVERY === 0 });
  await races.checkFeed();
}, 600_000);
