import { Type } from '@mikro-orm/core';
import type { Time } from '../values/time.ts';

/** A column of a {@link Time}; the connection reads its text already. */
export class TimeType extends Type<Time, Time> {
  override getColumnType(): string {
    return 'timestamptz(3)';
  }
}
