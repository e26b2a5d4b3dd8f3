import { buildSchema, type GraphQLResolveInfo, type GraphQLSchema } from 'graphql';
import { rateLimitDirective } from 'graphql-rate-limit-directive';
import { type Access, type Bucket, requireAccess } from '../auth/access.ts';
import { defaultLimits } from '../config/environment.ts';
import type { Context } from '../context.ts';
import { WINDOW_SECONDS } from '../rate-limit/point-counters.ts';

/**
 * Returns the arguments of `@rateLimit` for a bucket: the default limits, because `schema.graphql` does not depend on
 * the settings.
 */
export function rateLimitArguments(bucket: Bucket): { limit: number; duration: number } {
  return { limit: defaultLimits[bucket], duration: WINDOW_SECONDS };
}

/** Replaces the library's definition, which explains neither shared limits nor the meaning of 0. */
const directive = `
"""
The default rate limit of a root field, per token subject. Reads of the account share one limit, writes another, and
platform operations a third. The operator can configure other limits.
"""
directive @rateLimit(
  """The maximum number of points per time window. A call costs at least one point. 0 means no limit."""
  limit: Int! = ${defaultLimits.reads}
  """The length of the time window in seconds."""
  duration: Int! = ${WINDOW_SECONDS}
) on FIELD_DEFINITION | OBJECT
`;

/** `@rateLimit` and the directives that GraphQL specifies. */
export const rateLimitDirectives = buildSchema(directive, { assumeValidSDL: true }).getDirectives();

const { rateLimitDirectiveTransformer } = rateLimitDirective<Context, never>({
  // Charges the points itself and returns 0, so that the library does not charge them again.
  pointsCalculator: async (_directive, _source, args, context, info) => {
    await context.rateLimiter.chargeCall(context, findAccess(info), args);
    return 0;
  },
});

/**
 * Returns a schema whose root fields are charged by `RateLimiter.chargeCall` before they are resolved. Each alias is
 * charged separately.
 */
export const applyRateLimit: (schema: GraphQLSchema) => GraphQLSchema = rateLimitDirectiveTransformer;

function findAccess({ parentType, fieldName }: GraphQLResolveInfo): Access {
  return requireAccess(fieldName, parentType.getFields()[fieldName]?.extensions);
}
