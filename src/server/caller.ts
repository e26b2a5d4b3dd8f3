import type { RequestHandler, Response } from 'express';
import { type Access, checkAccess, findBucket } from '../auth/access.ts';
import type { Authenticate } from '../auth/authenticate.ts';
import { anonymous, type Viewer } from '../auth/viewer.ts';
import type { Context, SharedContext } from '../context.ts';
import { UnauthenticatedError } from '../errors/gateway-errors.ts';
import type { QuotaState } from '../quota/quota.ts';
import { toTime } from '../values/time.ts';

/** What an endpoint requires of its caller, checked before anything of the request is read. */
type Requirements = {
  /** The root field of a REST route, and its access. The fields of GraphQL operations check their access themselves. */
  field?: string;
  access?: Access;
  /** Whether a request without a token may pass. Defaults to `false`. */
  allowsAnonymous?: boolean;
};

/** Creates the step that identifies the caller of an endpoint of either API. */
export type IdentifyCaller = ReturnType<typeof createIdentifyCaller>;

/**
 * Creates the step before both APIs. It checks the token (401), the permissions for a known root field (403), and
 * whether the caller's limits are known to be exceeded (429), in this order, and creates the context of the request.
 */
export function createIdentifyCaller(authenticate: Authenticate, shared: SharedContext) {
  return ({ access, field, allowsAnonymous = false }: Requirements): RequestHandler =>
    async (request, response, next) => {
      const viewer = await (allowsAnonymous
        ? authenticate(request).catch(toAnonymous)
        : authenticate(request));
      const context = createContext(viewer, response, shared);
      if (field !== undefined) context.operations.add(field);
      // REST routes have no argument that names another user.
      const refusal = access && checkAccess(access, viewer, {});
      if (refusal !== undefined) throw refusal;
      shared.quota.throwIfBlocked(context, access && findBucket(access, viewer));
      next();
    };
}

/** Returns the anonymous viewer if the request has no token. */
function toAnonymous(error: unknown): Viewer {
  if (error instanceof UnauthenticatedError && !error.tokenSent) return anonymous;
  throw error;
}

function createContext(viewer: Viewer, response: Response, shared: SharedContext): Context {
  const { record } = response.locals;
  record.user = viewer.userId;
  const context: Context = {
    ...shared,
    viewer,
    now: toTime(new Date()),
    log: record.log,
    operations: record.operations,
    failures: record.failures,
    published: record.published,
    answered: record.answered,
    runningDocument: undefined,
    charges: {
      admitted: 0,
      minimum: 1,
      isBlocked: false,
      onChange: (state) => setQuotaHeaders(response, state),
    },
    onLeave: (leave) => void (response.destroyed ? leave() : response.once('close', leave)),
  };
  response.locals.context = context;
  return context;
}

function setQuotaHeaders(response: Response, { limit, remaining, resetSeconds }: QuotaState): void {
  if (response.headersSent) return;
  response.setHeader('RateLimit-Limit', limit);
  response.setHeader('RateLimit-Remaining', remaining);
  response.setHeader('RateLimit-Reset', resetSeconds);
}

/** Returns the context of a request. @throws {Error} if no step has identified the caller */
export function contextOf({ locals: { context } }: Response): Context {
  if (context === undefined) throw new Error('The caller of the request was not identified.');
  return context;
}
