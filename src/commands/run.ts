import { ConfigError } from '../config.ts';
import { EmbeddedPostgresError } from '../database/embedded-postgres-error.ts';

/** A command called in a way that it does not understand. */
export class UsageError extends Error {}

/** Runs a command; what its user can mend is told in one line, with exit status 1. */
export function runCommand(usage: string, command: () => Promise<void>): void {
  command().catch((error: unknown) => {
    process.exitCode = 1;
    if (error instanceof UsageError || isArgumentError(error)) {
      process.stderr.write(`${error.message}\nUsage: ${usage}\n`);
    } else if (error instanceof ConfigError || error instanceof EmbeddedPostgresError) {
      process.stderr.write(`${error.message}\n`);
    } else {
      process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
    }
  });
}

function isArgumentError(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}
