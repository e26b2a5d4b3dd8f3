/** Returns the code of a system error (`ENOENT`) or PostgreSQL error (`57P03`), if the value has one. */
export function readSystemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** A failure that the operator can fix; the message says how. */
export class OperatorError extends Error {}

/** Describes a failure for the operator: the message of an {@link OperatorError}, the stack of any other error. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof OperatorError ? error.message : (error.stack ?? error.message);
}
