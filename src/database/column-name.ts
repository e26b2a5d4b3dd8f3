import { UnderscoreNamingStrategy } from '@mikro-orm/core';

const naming = new UnderscoreNamingStrategy();

/** Returns the column of an entity's property, for SQL whose names are not translated. */
export function toColumn(property: string): string {
  return naming.propertyToColumnName(property);
}
