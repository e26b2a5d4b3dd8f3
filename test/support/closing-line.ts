import type { Reporter, TestModule } from 'vitest/node';

/** Prints how many tests passed, failed and were skipped; with REQUIRE_ALL=1 a skipped test fails the run. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1;
    }
    const skipped = count.skipped + count.pending;
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${skipped} skipped\n`);
    if (process.env.REQUIRE_ALL === '1' && skipped > 0) {
      process.stdout.write('REQUIRE_ALL=1: a skipped test fails the run.\n');
      process.exitCode = 1;
    }
  }
}
