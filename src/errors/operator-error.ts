import { ConfigError } from '../config.ts';

/** What keeps a process or a command from its work until its operator mends it; the message says how. */
export class OperatorError extends Error {}

/** What an operator is told of a failure: what they can mend in words, anything else with its stack. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isExplained = error instanceof OperatorError || error instanceof ConfigError;
  return isExplained ? error.message : (error.stack ?? error.message);
}
