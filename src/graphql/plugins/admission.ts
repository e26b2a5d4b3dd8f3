import { anonymous, identifyCaller } from '../../auth/viewer.ts';
import type { GatewayPlugin } from '../../context.ts';
import { RateLimitedError } from '../../errors/gateway-errors.ts';
import { FREE_COST } from '../../quota/running-documents.ts';
import { contextOf } from '../../server/caller.ts';
import { findOperation } from './operations.ts';

/** How long a costly document may run and its reply may be read, in milliseconds. The connection is then closed. */
const MAX_RUN_MS = 60_000;

/**
 * Lets costly documents of GraphQL clients wait until they may run. The REST API runs documents of its own, whose lists it
 * reads page by page.
 */
export function useAdmission(): GatewayPlugin {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, variableValues, rootValue, contextValue } = args;
      const context = contextOf(contextValue.res);
      const { viewer, runningDocuments, onLeave } = context;
      if (rootValue !== undefined || viewer === anonymous) return undefined;
      const cost = findOperation(schema, document, operationName).measureCost(variableValues ?? {});
      if (cost <= FREE_COST) return undefined;
      return runningDocuments.admit(identifyCaller(viewer), cost, onLeave).then((running) => {
        if (running === undefined) return setResultAndStopExecution({ errors: [new RateLimitedError(1)] });
        context.runningDocument = running;
        const timeout = setTimeout(() => contextValue.res.destroy(), MAX_RUN_MS);
        onLeave(() => clearTimeout(timeout));
      });
    },
  };
}
