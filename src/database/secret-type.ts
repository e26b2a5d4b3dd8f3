import { Type } from '@mikro-orm/core';
import { Secret } from '../values/secret.ts';

/** The type of a text column that is a {@link Secret} in JavaScript, so that no row prints it. */
export class SecretType extends Type<Secret | null, string | null> {
  override convertToDatabaseValue(value: Secret | null): string | null {
    return value?.reveal() ?? null;
  }

  override convertToJSValue(value: string | null): Secret | null {
    return value === null ? null : new Secret(value);
  }

  override getColumnType(): string {
    return 'text';
  }
}
