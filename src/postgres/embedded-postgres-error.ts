import { OperatorError } from '../errors/operator-error.ts';

/** An expected fault of the embedded PostgreSQL. The message tells the operator what to do. */
export class EmbeddedPostgresError extends OperatorError {
  override readonly name = 'EmbeddedPostgresError';
}

/** The code of a system error (`ENOENT`) or of PostgreSQL (`57P03`), if the value has one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
