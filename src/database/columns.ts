import { p, Type } from '@mikro-orm/core';
import { Secret } from '../values/secret.ts';
import type { Time } from '../values/time.ts';

/** Column of an opaque ID of 1 to 255 characters, compared by code point regardless of the database's locale. */
export const idColumn = () => p.string().length(255).collation('C');

/** Column of a timestamp in milliseconds, the precision of cursors. */
export const timeColumn = () => p.type(TimeType).$type<Time>();

/** Column of text without a maximum length. Only the size of the request limits it. */
export const textColumn = () => p.text();

/** Column of one member of a closed list, enforced by a check constraint. */
export const enumColumn = <const Member extends string>(members: readonly Member[]) =>
  p.enum([...members]).$type<Member>();

/** Column of text that must never be printed or logged. */
export const secretColumn = () => p.type(SecretType).$type<Secret>();

/** The type of a {@link Time} column. The connection's type parser has already converted the value. */
class TimeType extends Type<Time, Time> {
  override getColumnType(): string {
    return 'timestamptz(3)';
  }

  /** Otherwise MikroORM would convert the string to a `Date`. */
  override compareAsType(): string {
    return 'string';
  }
}

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
