import { Type } from '@mikro-orm/core';
import { Secret } from '../values/secret.ts';

/** The type of a text column that is a {@link Secret} in JavaScript, so that no row prints it. */
export class SecretType extends Type<Secret | null, string | null> {
  override convertToDatabaseValue(value: Secret | null): string | null {
    return value?.reveal() ?? null;
  }

  /** Accepts a `Secret` too, because Kysely's results are converted twice. */
  override convertToJSValue(value: Secret | string | null): Secret | null {
    return typeof value === 'string' ? new Secret(value) : value;
  }

  override getColumnType(): string {
    return 'text';
  }
}
