import { OperatorError } from '../errors/operator-error.ts';

/** A failure of the embedded PostgreSQL that the operator can fix; the message says how. */
export class EmbeddedPostgresError extends OperatorError {
  override readonly name = 'EmbeddedPostgresError';
}

/** Returns the code of a system error (`ENOENT`) or PostgreSQL error (`57P03`), if the value has one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
