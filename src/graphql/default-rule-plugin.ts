import SchemaBuilder, {
  BasePlugin,
  type PothosInputFieldConfig,
  type PothosInputFieldType,
  type SchemaTypes,
} from '@pothos/core';
import { idRule, jsonRule, secretRule, textRule } from './rules.ts';

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      defaultRule: DefaultRulePlugin<Types>;
    }
  }
}

const rules = new Map<string, object>([
  ['ID', idRule],
  ['String', textRule],
  ['Secret', secretRule],
  ['JSON', jsonRule],
]);

/**
 * Gives every argument and input field its type's rule where it states none, so that no text reaches the
 * database unchecked because somebody forgot. Stands after the zod plugin in the builder's list: the last
 * plugin sees a field first.
 */
class DefaultRulePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onInputFieldConfig(field: PothosInputFieldConfig<Types>): PothosInputFieldConfig<Types> {
    const rule = this.ruleOf(field.type);
    if (rule === undefined || field.pothosOptions.validate !== undefined) return field;
    return { ...field, pothosOptions: { ...field.pothosOptions, validate: rule } };
  }

  private ruleOf(type: PothosInputFieldType<Types>): object | undefined {
    if (type.kind === 'List') {
      const items = this.ruleOf(type.type);
      return items && { items };
    }
    return type.kind === 'Scalar' ? rules.get(this.buildCache.getTypeConfig(type.ref).name) : undefined;
  }
}

export const defaultRulePlugin = 'defaultRule';
SchemaBuilder.registerPlugin(defaultRulePlugin, DefaultRulePlugin);
