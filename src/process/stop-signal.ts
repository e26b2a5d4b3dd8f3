/** Resolves at the first signal to stop. A second one, or a stop that takes longer, ends the process at once. */
export function awaitStopSignal(maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = () => {
      if (isStopping) endProcess('a second signal came');
      isStopping = true;
      endProcessAfter(maxMs);
      resolve();
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
}

/** Ends a process that takes longer than this to stop. */
export function endProcessAfter(maxMs: number): void {
  setTimeout(endProcess, maxMs, `stopping took longer than ${maxMs} ms`).unref();
}

function endProcess(reason: string): never {
  process.stderr.write(`Ended at once: ${reason}.\n`);
  process.exit(1);
}
