import SchemaBuilder, {
  BasePlugin,
  type PothosInputFieldConfig,
  type PothosInputFieldType,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import { type Access, describeAccess, describeRecordAccess, requireAccess } from '../auth/access.ts';
import { valueAt } from '../errors/issue.ts';
import { rateLimited } from './root-fields.ts';
import { emailRule, idRule, jsonRule, secretRule, textRule, urlRule } from './rules.ts';

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    access?: Access;
  }
  interface GraphQLArgumentExtensions {
    maxItems?: number;
  }
  interface GraphQLInputFieldExtensions {
    /** The maximum length of a list, checked before its items are read. */
    maxItems?: number;
  }
}

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      rootField: RootFieldPlugin<Types>;
      defaultRule: DefaultRulePlugin<Types>;
    }
    interface RootFieldOptions {
      /** What the operation requires of its caller. Mandatory for a root field. */
      access: Access;
    }
    interface QueryFieldOptions<Types, Type, Nullable, Args, ResolveReturnShape> extends RootFieldOptions {}
    interface MutationFieldOptions<Types, Type, Nullable, Args, ResolveReturnShape>
      extends RootFieldOptions {}
    interface ObjectFieldOptions<Types, ParentShape, Type, Nullable, Args, ResolveReturnShape>
      extends RecordFieldOptions {}
    interface InterfaceFieldOptions<Types, ParentShape, Type, Nullable, Args, ResolveReturnShape>
      extends RecordFieldOptions {}
    interface RecordFieldOptions {
      /**
       * What a field that leads to other records of its record's user requires of its caller. It is then checked and
       * charged as a root field is.
       */
      access?: Access;
    }
    interface SubscriptionFieldOptions<Types, Type, Nullable, Args, ResolveShape, ResolveReturnShape>
      extends RootFieldOptions {}
  }
}

/**
 * Copies the access that a field declares to its extensions, where it is checked, and to its description, and adds
 * `@rateLimit` with the default limit of its bucket. Root fields and the fields of `User` and `Platform` must declare it.
 */
class RootFieldPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { kind, pothosOptions } = field;
    const isOfRecord = kind === 'Object' || kind === 'Interface';
    const needsNone = KEYS.has(field.name) || !LEADING_TYPES.has(field.parentType);
    if (isOfRecord ? pothosOptions.access === undefined && needsNone : !isRoot(kind)) return field;
    const access = requireAccess(field.name, pothosOptions);
    const permissions = isOfRecord
      ? describeRecordAccess(access)
      : describeAccess(access, 'userId' in field.args);
    return {
      ...field,
      description: field.description && `${field.description}\n\n${permissions}`,
      extensions: { ...field.extensions, access, ...rateLimited(access.bucket) },
    };
  }
}

/** The types whose fields lead to records, and therefore declare their access, except their keys. */
const LEADING_TYPES: ReadonlySet<string> = new Set(['User', 'Platform']);
const KEYS: ReadonlySet<string> = new Set(['id', 'ref']);

function isRoot(kind: string): boolean {
  return kind === 'Query' || kind === 'Mutation' || kind === 'Subscription';
}

/** The name of the plugin that handles the access of fields. */
export const rootFieldPlugin = 'rootField';
SchemaBuilder.registerPlugin(rootFieldPlugin, RootFieldPlugin);

const defaultRules: Readonly<Record<string, object>> = {
  ID: idRule,
  String: textRule,
  Secret: secretRule,
  JSON: jsonRule,
  EmailAddress: emailRule,
  URL: urlRule,
};

/**
 * Gives every argument and input field that declares no rule the default rule of its type, so that no string reaches
 * the database unchecked. Also records the maximum length of each list, which must be declared. builder.ts lists this
 * plugin after the zod plugin, because Pothos lets the last plugin process a field first.
 */
class DefaultRulePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onInputFieldConfig(field: PothosInputFieldConfig<Types>): PothosInputFieldConfig<Types> {
    const { type, pothosOptions } = field;
    const validate = pothosOptions.validate ?? this.ruleOf(type);
    return {
      ...field,
      ...(type.kind === 'List' && {
        extensions: { ...field.extensions, maxItems: requireMaxItems(field.name, validate) },
      }),
      ...(validate !== undefined && { pothosOptions: { ...pothosOptions, validate } }),
    };
  }

  private ruleOf(type: PothosInputFieldType<Types>): object | undefined {
    if (type.kind === 'List') {
      const items = this.ruleOf(type.type);
      return items && { items };
    }
    return type.kind === 'Scalar' ? defaultRules[this.buildCache.getTypeConfig(type.ref).name] : undefined;
  }
}

/** @throws {Error} if a list declares no maximum length */
function requireMaxItems(name: string, validate: unknown): number {
  const maxLength = valueAt(validate, ['maxLength']);
  if (typeof maxLength === 'number') return maxLength;
  throw new Error(`The list "${name}" declares no maximum length: give it the rule maxItems(…).`);
}

/** The name of the plugin that adds default rules. */
export const defaultRulePlugin = 'defaultRule';
SchemaBuilder.registerPlugin(defaultRulePlugin, DefaultRulePlugin);
