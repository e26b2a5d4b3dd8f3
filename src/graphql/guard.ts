import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { defaultFieldResolver, type GraphQLSchema } from 'graphql';
import { checkAccess, requireAccess } from '../auth/access.ts';
import type { Context } from '../context.ts';
import type { RateLimiter } from '../rate-limit/rate-limiter.ts';
import { asGatewayError } from './mask.ts';

/** Guards a schema for serving: every root field checks access first, then the rate limit, then its arguments. */
export function guardSchema(schema: GraphQLSchema, rateLimiter: RateLimiter): GraphQLSchema {
  return swapSubscribe(guard(rateLimiter.apply(swapSubscribe(schema))));
}

/** Exchanges the two while checks are wrapped around `resolve`: a subscription is checked once, when it starts. */
function swapSubscribe(schema: GraphQLSchema): GraphQLSchema {
  return mapSchema(schema, {
    [MapperKind.SUBSCRIPTION_ROOT_FIELD]: ({ resolve, subscribe, ...field }) => ({
      ...field,
      ...(subscribe && { resolve: subscribe }),
      ...(resolve && { subscribe: resolve }),
    }),
  });
}

function guard(schema: GraphQLSchema): GraphQLSchema {
  return mapSchema(schema, {
    // Without a resolver a compiled operation reads the property where it stands.
    [MapperKind.OBJECT_FIELD]: ({ resolve, ...field }) => ({
      ...field,
      ...(resolve && resolve !== defaultFieldResolver && { resolve }),
    }),
    [MapperKind.ROOT_FIELD]: (field, fieldName) => {
      const access = requireAccess(fieldName, field.extensions);
      const resolve = field.resolve ?? defaultFieldResolver;
      return {
        ...field,
        resolve: async (source, args, context: Context, info) => {
          context.operations.add(fieldName);
          try {
            const refusal = checkAccess(access, context.viewer, args);
            if (refusal) throw refusal;
            const run = () => resolve(source, args, context, info);
            if (access.bucket !== 'reads') return await run();
            return await context.readTurns.take(context.viewer.userId, run, context.listing);
          } catch (error) {
            context.failures.push({ field: fieldName, code: asGatewayError(error).code });
            throw error;
          }
        },
      };
    },
  });
}
