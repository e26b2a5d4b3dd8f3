import { Counter, type Registry } from 'prom-client';
import type { LogOutput } from '../process/log-output.ts';

/** Reports what of the log could not be written, at every scrape. */
export function addLogMetrics(registry: Registry, output: LogOutput): void {
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
    'Writes of the log that failed; its lines are kept and tried again.',
    () => output.failedWrites,
  );
  counter(
    'gateway_log_lines_dropped_total',
    'Log lines that were dropped because 1 MiB waited for a write that succeeds.',
    () => output.droppedLines,
  );
}
