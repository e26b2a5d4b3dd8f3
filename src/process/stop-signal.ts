/** Resolves at the first SIGTERM or SIGINT. The process exits at the second one, or `maxMs` after the first. */
export function awaitStopSignal(maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = () => {
      if (isStopping) exit('received a second signal');
      isStopping = true;
      exitAfter(maxMs);
      resolve();
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
}

/** Exits the process if it is still running after `maxMs`. */
export function exitAfter(maxMs: number): void {
  setTimeout(exit, maxMs, `shutdown took longer than ${maxMs} ms`).unref();
}

function exit(reason: string): never {
  process.stderr.write(`Exiting immediately: ${reason}.\n`);
  process.exit(1);
}
