import { resolve } from 'node:path';
import { describeFailure } from '../errors/operator-error.ts';

/** A command called in a way that it does not understand. */
export class UsageError extends Error {}

/** Runs a command; what its user can mend is told in words, with exit status 1. */
export function runCommand(usage: string, command: () => Promise<void>): void {
  command().catch((error: unknown) => {
    process.exitCode = 1;
    const isUsage = error instanceof UsageError || isArgumentError(error);
    process.stderr.write(isUsage ? `${error.message}\nUsage: ${usage}\n` : `${describeFailure(error)}\n`);
  });
}

/** Tells the user of a command. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Reports that a token is signed with a key that no running gateway has. */
export function warnOfNewKey(path: string): void {
  process.stderr.write(
    `Made a new signing key: ${resolve(path)}. A gateway that runs with another DATA_DIR rejects its tokens.\n`,
  );
}

function isArgumentError(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}
