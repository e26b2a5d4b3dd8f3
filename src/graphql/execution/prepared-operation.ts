import type { Viewer } from '../../auth/viewer.ts';
import type { Context } from '../../context.ts';
import { asGatewayError } from '../mask-errors.ts';
import type { createExecutor } from './executor.ts';
import { checkPermissions, type Operation } from './operation.ts';
import type { VariableValues } from './variables.ts';

/**
 * An operation of the gateway itself, such as the operation of a REST route. Permissions, rate limits and arguments are
 * checked as for any other; the document is not limited.
 */
export type PreparedOperation = {
  /** @throws {GatewayError} if the viewer may not run it */
  authorize(viewer: Viewer): void;
  /** Charges one point for each root field. @throws {RateLimitedError} if no point is left */
  prepay(context: Context): Promise<void>;
  /** Charges the points that the records of a returned list cost in addition to the prepaid point. */
  chargeRecords(context: Context, records: number): void;
  /** Returns the data. @throws {GatewayError} the first error, if there is one */
  run(variables: VariableValues, context: Context): Promise<Readonly<Record<string, unknown>>>;
};

/**
 * Prepares an operation. `authorize` and `prepay` are separate from `run`, because REST calls them before it reads the
 * body. During `run`, guard-schema.ts checks the access to the root field again and uses the prepaid point.
 */
export function prepareOperation(
  operation: Operation,
  execute: ReturnType<typeof createExecutor>,
): PreparedOperation {
  return {
    authorize(viewer) {
      // REST routes have no argument that names another user.
      const [refusal] = checkPermissions(operation, viewer, {}).refusals;
      if (refusal !== undefined) throw refusal;
    },
    prepay: (context) => context.rateLimiter.prepay(context, operation.rootAccess),
    chargeRecords(context, records) {
      for (const { bucket } of operation.rootAccess)
        context.rateLimiter.chargeRecords(context, bucket, records);
    },
    async run(variables, context) {
      const { data, errors: [error] = [] } = await execute(operation, variables, context);
      if (error !== undefined) throw asGatewayError(error);
      return data ?? {};
    },
  };
}
