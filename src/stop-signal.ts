/** Ctrl-C sends SIGINT to all programs of a terminal, and npm also forwards it: what arrives within this time is one request. */
const ONE_REQUEST_MS = 1000;

/** Resolves at the first of these signals. The process exits at another one, more than a second after the first. */
export function awaitStopSignal(signals: readonly NodeJS.Signals[]): Promise<void> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const stop = () => {
      firstAt ??= performance.now();
      if (performance.now() - firstAt > ONE_REQUEST_MS) exitImmediately('received a second signal');
      resolve();
    };
    for (const signal of signals) process.on(signal, stop);
  });
}

/** Exits the process, without stopping anything, and prints why. */
export function exitImmediately(reason: string): never {
  process.stderr.write(`Exiting immediately: ${reason}.\n`);
  process.exit(1);
}
