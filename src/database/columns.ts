import { p, Type } from '@mikro-orm/core';
import type { Secret } from '../values/secret.ts';
import type { Time } from '../values/time.ts';
import { SecretType } from './secret-type.ts';

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
