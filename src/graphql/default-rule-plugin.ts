import SchemaBuilder, {
  BasePlugin,
  type PothosInputFieldConfig,
  type PothosInputFieldType,
  type SchemaTypes,
} from '@pothos/core';
import { valueAt } from '../errors/json-path.ts';
import { idRule, jsonRule, secretRule, textRule } from './rules.ts';

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      defaultRule: DefaultRulePlugin<Types>;
    }
  }
}

const rules: Readonly<Record<string, object>> = {
  ID: idRule,
  String: textRule,
  Secret: secretRule,
  JSON: jsonRule,
};

declare module 'graphql' {
  interface GraphQLArgumentExtensions {
    maxItems?: number;
  }
  interface GraphQLInputFieldExtensions {
    /** The maximum length of a list, checked before its items are read. */
    maxItems?: number;
  }
}

/**
 * Gives every argument and input field that declares no rule the default rule of its type, so that no string reaches
 * the database unchecked. Also records the maximum length of each list, which must be declared. builder.ts lists this
 * plugin after the zod plugin, because Pothos lets the last plugin process a field first.
 */
class DefaultRulePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onInputFieldConfig(field: PothosInputFieldConfig<Types>): PothosInputFieldConfig<Types> {
    const { type, pothosOptions } = field;
    const rule = this.ruleOf(type);
    const validate = pothosOptions.validate ?? rule;
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
    return type.kind === 'Scalar' ? rules[this.buildCache.getTypeConfig(type.ref).name] : undefined;
  }
}

/** @throws {Error} if a list declares no maximum length */
function requireMaxItems(name: string, validate: unknown): number {
  const maxLength = valueAt(validate, ['maxLength']);
  if (typeof maxLength === 'number') return maxLength;
  throw new Error(`The list "${name}" declares no maximum length: give it the rule maxItems(…).`);
}

export const defaultRulePlugin = 'defaultRule';
SchemaBuilder.registerPlugin(defaultRulePlugin, DefaultRulePlugin);
