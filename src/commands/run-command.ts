import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { argv } from 'node:process';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { describeFailure } from '../errors/failure.ts';

/** Invalid arguments of a command. */
export class UsageError extends Error {}

/**
 * Runs a command with the arguments that it accepts, and refuses all others; or prints its usage if it is called with
 * `--help`. Errors that the operator can fix are printed without a stack. Every error sets exit status 1.
 */
export function runCommand<const Accepted extends ParseArgsConfig>(
  usage: string,
  accepted: Accepted,
  command: (given: ReturnType<typeof parseArgs<Accepted>>) => Promise<void>,
): void {
  Promise.resolve()
    .then(() => (argv.includes('--help') ? printLine(`Usage: ${usage}`) : command(parseArgs(accepted))))
    .catch((error: unknown) => {
      process.exitCode = 1;
      const isUsage = error instanceof UsageError || isArgumentError(error);
      process.stderr.write(isUsage ? `${error.message}\nUsage: ${usage}\n` : `${describeFailure(error)}\n`);
    });
}

/** Prints a line. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Warns that a signing key was generated, which a gateway with another DATA_DIR does not have. */
export function warnOfNewKey(path: string): void {
  process.stderr.write(
    `Generated a new signing key: ${resolve(path)}. A gateway with another DATA_DIR rejects its tokens.\n`,
  );
}

function isArgumentError(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

/** Formats the URL at which local programs reach a server that listens on a host and port. */
export function formatGatewayAddress({ host, port }: { host: string; port: number }): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`;
}
