import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnswerRaces, startAnswerRaces } from '../support/answer-race.ts';

const ROUNDS = 10;

let races: AnswerRaces;
beforeAll(async () => {
  races = await startAnswerRaces();
});
afterAll(() => races.close());

test('of 24 answers over two gateways, of which one is killed, one wins, and all callers receive it', async () => {
  expect.hasAssertions();
  for (let round = 1; round <= ROUNDS; round += 1) await races.run(round);
  await races.checkFeed();
}, 120_000);
