import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type GraphQLFieldConfig,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isObjectType,
} from 'graphql';
import { type Access, checkAccess, requireAccess } from '../auth/access.ts';
import type { Context } from '../context.ts';
import { asGatewayError } from './mask-errors.ts';
import { applyRateLimit } from './rate-limit-directive.ts';

type Resolver = GraphQLFieldResolver<unknown, Context>;
type FieldConfig = GraphQLFieldConfig<unknown, Context>;

/**
 * Adds checks to every root field. They run in this order: access (`guard`), the rate limit (`limit`), and the
 * rules of arguments, which the plugins of `builder.ts` have wrapped around the resolver.
 */
export function guardSchema(schema: GraphQLSchema): GraphQLSchema {
  const limited = applyRateLimit(schema);
  return mapSchema(schema, {
    // Removes default resolvers. If a field has no resolver, a compiled operation reads its property directly.
    [MapperKind.OBJECT_FIELD]: ({ resolve, ...field }) => ({
      ...field,
      ...(resolve && resolve !== defaultFieldResolver && { resolve }),
    }),
    [MapperKind.ROOT_FIELD]: (field, name, typeName) => {
      const { resolve = defaultFieldResolver } = field;
      const access = requireAccess(name, field.extensions);
      const chargingResolve = requireResolver(limited, typeName, name);
      return { ...field, resolve: guard(name, access, limit(access, resolve, chargingResolve)) };
    },
    [MapperKind.SUBSCRIPTION_ROOT_FIELD]: (field, name) => guardSubscription(name, field),
  });
}

function requireResolver(schema: GraphQLSchema, typeName: string, name: string): Resolver {
  const type = schema.getType(typeName);
  const resolve = isObjectType(type) ? type.getFields()[name]?.resolve : undefined;
  if (resolve === undefined) throw new Error(`The root field "${name}" declares no rate limit.`);
  return resolve;
}

/**
 * If a prepaid point pays for the call, calls the field's own resolver. Only other calls go through the rate limit
 * library, because it creates a generator function for each call, and V8 keeps everything that such a function
 * references, here the whole request, until the next major garbage collection.
 */
function limit(access: Access, resolve: Resolver, chargingResolve: Resolver): Resolver {
  return (source, args, context, info) => {
    const run = context.rateLimiter.tryTakePrepaid(context, access) ? resolve : chargingResolve;
    return run(source, args, context, info);
  };
}

/**
 * Checks access and limit only at the start of a subscription. Its events are resolved without these checks, and cost
 * no points.
 */
function guardSubscription(
  name: string,
  { subscribe = defaultFieldResolver, ...field }: FieldConfig,
): FieldConfig {
  const access = requireAccess(name, field.extensions);
  const start: Resolver = async (source, args, context, info) => {
    await context.rateLimiter.chargeCall(context, access, args);
    return subscribe(source, args, context, info);
  };
  return { ...field, subscribe: guard(name, access, start) };
}

/**
 * Checks access before a root field is resolved, and records the field and its error. Reads of the account wait while
 * too many reads of the same caller are running.
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
