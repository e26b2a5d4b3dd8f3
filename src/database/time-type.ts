import { Type } from '@mikro-orm/core';
import type { Time } from '../values/time.ts';

/** The type of a {@link Time} column. The connection's type parser has already converted the value. */
export class TimeType extends Type<Time, Time> {
  override getColumnType(): string {
    return 'timestamptz(3)';
  }

  /** Otherwise MikroORM would convert the string to a `Date`. */
  override compareAsType(): string {
    return 'string';
  }
}
