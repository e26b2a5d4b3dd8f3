import type { ServerResponse } from 'node:http';
import type { Authenticate } from '../auth/authenticate.ts';
import { anonymous, type Viewer } from '../auth/viewer.ts';
import type { Context, HandleRequest } from '../context.ts';
import { type GatewayError, UnauthenticatedError } from '../errors/gateway-errors.ts';
import { asGatewayError } from '../graphql/mask-errors.ts';
import type { OpenRecord, RequestRecord } from '../http/request-log.ts';
import type { Step } from '../http/steps.ts';
import { type Log, logHiddenCause } from '../log.ts';
import { quotaHeaders } from '../rate-limit/rate-limiter.ts';
import { ReadScheduler } from '../rate-limit/read-scheduler.ts';
import { toTime } from '../values/time.ts';

/** What the contexts of all requests share. */
export type ContextDependencies = Pick<
  Context,
  'em' | 'cipher' | 'hub' | 'announce' | 'outbox' | 'push' | 'rateLimiter'
>;

/** The dependencies of the request lifecycle. */
export type LifecycleOptions = {
  openRecord: OpenRecord;
  authenticate: Authenticate;
  dependencies: ContextDependencies;
};

/** The handling of a request before, during and after its operation. */
export type RequestLifecycle = {
  /** Opens the record of a request: ID, log line, metrics. Must be the first step. */
  start: Step;
  /** Returns the log of a request, whose lines contain the request ID. */
  findLog(response: ServerResponse): Log;
  handle: HandleRequest;
  /**
   * Returns the error that the caller sees, and logs what the caller does not see. The first error of a request is
   * recorded for the metrics.
   */
  fail(error: unknown, response: ServerResponse): GatewayError;
};

/** Creates the lifecycle of requests to both APIs. */
export function createLifecycle(options: LifecycleOptions): RequestLifecycle {
  const { openRecord, authenticate } = options;
  const records = new WeakMap<ServerResponse, RequestRecord>();
  const dependencies = { ...options.dependencies, readScheduler: new ReadScheduler() };

  const findRecord = (response: ServerResponse): RequestRecord => {
    const record = records.get(response);
    if (record === undefined) throw new Error('The request has no record.');
    return record;
  };

  const fail = (error: unknown, response: ServerResponse): GatewayError => {
    const shown = asGatewayError(error);
    const { log, failures } = findRecord(response);
    if (failures.length === 0) failures.push({ code: shown.code });
    logHiddenCause(log, shown);
    return shown;
  };

  return {
    start(request, response, next) {
      records.set(response, openRecord(request, response));
      next();
    },
    findLog: (response) => findRecord(response).log,
    fail,
    async handle(request, response, { run, refuse, allowsAnonymous }) {
      let context: Context | undefined;
      try {
        const viewer = await authenticate(request).catch(allowMissingToken(allowsAnonymous));
        context = createContext(viewer, findRecord(response), response, dependencies);
        return await run(context);
      } catch (error) {
        return refuse(fail(error, response));
      } finally {
        if (context !== undefined) {
          await context.rateLimiter.chargeMinimum(context);
          for (const [name, value] of quotaHeaders(context.charges)) response.setHeader(name, value);
        }
      }
    },
  };
}

/**
 * Returns an error handler that turns a missing token into the anonymous viewer if allowed, and rethrows other errors.
 */
function allowMissingToken(isAllowed: () => Promise<boolean> = async () => false) {
  return async (error: unknown): Promise<Viewer> => {
    const isMissing = error instanceof UnauthenticatedError && !error.tokenSent;
    if (isMissing && (await isAllowed())) return anonymous;
    throw error;
  };
}

function createContext(
  viewer: Viewer,
  record: RequestRecord,
  response: ServerResponse,
  dependencies: ContextDependencies & Pick<Context, 'readScheduler'>,
): Context {
  const { log, operations, failures } = record;
  record.user = viewer.userId;
  return {
    ...dependencies,
    viewer,
    now: toTime(new Date()),
    log,
    operations,
    failures,
    onLeave: (leave) => void (response.destroyed ? leave() : response.once('close', leave)),
    charges: { wasCharged: false, prepaid: { reads: 0, writes: 0, platform: 0 } },
  };
}
