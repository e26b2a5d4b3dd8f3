import { OperatorError } from '../errors/operator-error.ts';

/** A failure of the embedded PostgreSQL that the operator can fix; the message says how. */
export class EmbeddedPostgresError extends OperatorError {
  override readonly name = 'EmbeddedPostgresError';
}
