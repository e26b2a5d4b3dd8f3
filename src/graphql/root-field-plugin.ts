import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { type Access, describeAccess, requireAccess } from '../auth/access.ts';
import { rateLimitArguments } from './rate-limit-directive.ts';

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    access?: Access;
  }
}

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      rootField: RootFieldPlugin<Types>;
    }
    interface RootFieldOptions {
      /** What the operation requires of its caller. Mandatory for a root field. */
      access: Access;
    }
    interface QueryFieldOptions<Types, Type, Nullable, Args, ResolveReturnShape> extends RootFieldOptions {}
    interface MutationFieldOptions<Types, Type, Nullable, Args, ResolveReturnShape>
      extends RootFieldOptions {}
    interface SubscriptionFieldOptions<Types, Type, Nullable, Args, ResolveShape, ResolveReturnShape>
      extends RootFieldOptions {}
  }
}

/**
 * Copies the access that a root field declares to its extensions, where it is checked, and to its description, and adds
 * `@rateLimit` with the default limit of its bucket.
 */
class RootFieldPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (field.kind !== 'Query' && field.kind !== 'Mutation' && field.kind !== 'Subscription') return field;
    const access = requireAccess(field.name, field.pothosOptions);
    return {
      ...field,
      description:
        field.description && `${field.description}\n\n${describeAccess(access, 'userId' in field.args)}`,
      extensions: {
        ...field.extensions,
        access,
        directives: { rateLimit: rateLimitArguments(access.bucket) },
      },
    };
  }
}

export const rootFieldPlugin = 'rootField';
SchemaBuilder.registerPlugin(rootFieldPlugin, RootFieldPlugin);
