import { Counter, type Registry } from 'prom-client';
import type { LogOutput } from '../log.ts';

/** Registers counters of failed log writes and dropped lines. */
export function registerLogMetrics(registry: Registry, output: LogOutput): void {
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });

  counter(
    'gateway_log_write_failures_total',
    'Failed writes of the log. Their lines are kept, and the write is retried.',
    () => output.failedWrites,
  );
  counter(
    'gateway_log_lines_dropped_total',
    'Log lines dropped because the buffer of 1 MiB was full.',
    () => output.droppedLines,
  );
}
