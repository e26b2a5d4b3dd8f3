import { p } from '@mikro-orm/core';
import type { Secret } from '../values/secret.ts';
import type { Time } from '../values/time.ts';
import { SecretType } from './secret-type.ts';
import { TimeType } from './time-type.ts';

/** Column of an opaque id: 1 to 255 characters, compared by code point whatever the database's locale is. */
export const idColumn = () => p.string().length(255).collation('C');

/** Column of a time in milliseconds, so that a cursor made of it loses nothing. */
export const timeColumn = () => p.type(TimeType).$type<Time>();

/** Column of text without a length of its own; the limit is the request's size. */
export const textColumn = () => p.text();

/** Column of one member of a closed list, enforced by a check constraint. */
export const enumColumn = <const Member extends string>(members: readonly Member[]) =>
  p.enum([...members]).$type<Member>();

/** Column of text that must not be printed. */
export const secretColumn = () => p.type(SecretType).$type<Secret>();
