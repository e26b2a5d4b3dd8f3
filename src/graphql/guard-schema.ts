import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type GraphQLFieldConfig,
  type GraphQLFieldResolver,
  type GraphQLSchema,
} from 'graphql';
import { type Access, checkAccess, requireAccess } from '../auth/access.ts';
import type { Context } from '../context.ts';
import type { RateLimiter } from '../rate-limit/rate-limiter.ts';
import { asGatewayError } from './mask-errors.ts';

type Resolver = GraphQLFieldResolver<unknown, Context>;
type FieldConfig = GraphQLFieldConfig<unknown, Context>;

/**
 * Adds checks to every root field. They run in this order: access (`guard`), the rate limit (`rateLimiter`), and the
 * rules of arguments, which the plugins of `builder.ts` have added before the resolver.
 */
export function guardSchema(schema: GraphQLSchema, rateLimiter: RateLimiter): GraphQLSchema {
  const unlimited = schema.getSubscriptionType()?.getFields() ?? {};
  return mapSchema(rateLimiter.apply(schema), {
    // Without a resolver, a compiled operation reads the property directly.
    [MapperKind.OBJECT_FIELD]: ({ resolve, ...field }) => ({
      ...field,
      ...(resolve && resolve !== defaultFieldResolver && { resolve }),
    }),
    [MapperKind.ROOT_FIELD]: (field, name) => ({
      ...field,
      resolve: guard(name, requireAccess(name, field.extensions), field.resolve ?? defaultFieldResolver),
    }),
    [MapperKind.SUBSCRIPTION_ROOT_FIELD]: (field, name) =>
      guardSubscription(name, field, rateLimiter, unlimited[name]?.resolve),
  });
}

/** Checks access and limit only at the start of a subscription. Its events use the resolver without the limit. */
function guardSubscription(
  name: string,
  { subscribe = defaultFieldResolver, resolve: _limited, ...field }: FieldConfig,
  rateLimiter: RateLimiter,
  resolve: Resolver | undefined,
): FieldConfig {
  const access = requireAccess(name, field.extensions);
  const start: Resolver = async (source, args, context, info) => {
    await rateLimiter.usePrepaid(context, access, args);
    return subscribe(source, args, context, info);
  };
  return { ...field, ...(resolve && { resolve }), subscribe: guard(name, access, start) };
}

/**
 * Checks access before a root field is resolved, and records the field and its error. Reads of the account wait for one
 * of the user's slots.
 */
function guard(fieldName: string, access: Access, resolve: Resolver): Resolver {
  return async (source, args, context, info) => {
    context.operations.add(fieldName);
    try {
      const refusal = checkAccess(access, context.viewer, args);
      if (refusal) throw refusal;
      const run = () => resolve(source, args, context, info);
      if (access.bucket !== 'reads') return await run();
      return await context.readScheduler.run(context.viewer.userId, run, context.restPage?.page);
    } catch (error) {
      context.failures.push({ field: fieldName, code: asGatewayError(error).code });
      throw error;
    }
  };
}
