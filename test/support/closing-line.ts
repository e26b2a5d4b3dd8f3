import { readFileSync, writeFileSync } from 'node:fs';
import { env } from 'node:process';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Numbers of tests: passed, failed, skipped. */
type Counts = [passed: number, failed: number, skipped: number];

/**
 * Prints how many tests passed, failed and were skipped, and which passed only when they were repeated, with what failed
 * first: each of them is a defect of the test or of the gateway. With REQUIRE_ALL=1 a skipped test fails the run. Runs
 * that share the file named by TEST_COUNTS add up their counts; the file must be empty before the first run.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    for (const test of tests.filter((test) => test.diagnostic()?.flaky)) reportRepeated(test);
    const states = tests.map((test) => test.result().state);
    const count = (...counted: string[]) => states.filter((state) => counted.includes(state)).length;
    const [passed, failed, skipped] = addEarlier([
      count('passed'),
      count('failed'),
      count('skipped', 'pending'),
    ]);
    process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    if (env.REQUIRE_ALL === '1' && skipped > 0) {
      process.stdout.write('REQUIRE_ALL=1: a skipped test fails the run.\n');
      process.exitCode = 1;
    }
  }
}

function reportRepeated(test: TestCase): void {
  const { errors = [] } = test.result();
  const failures = errors.map(({ stack, message }) => stack ?? message).join('\n');
  process.stdout.write(
    `\nPassed only when repeated: ${test.module.relativeModuleId} > ${test.fullName}\n${failures}\n`,
  );
}

function addEarlier([passed, failed, skipped]: Counts): Counts {
  const file = env.TEST_COUNTS;
  if (!file) return [passed, failed, skipped];
  const [before = 0, failedBefore = 0, skippedBefore = 0] = readFileSync(file, 'utf8').split(' ').map(Number);
  const all: Counts = [passed + before, failed + failedBefore, skipped + skippedBefore];
  writeFileSync(file, all.join(' '));
  return all;
}
