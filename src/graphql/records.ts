import { ImplementableInterfaceRef, ImplementableObjectRef } from '@pothos/core';
import { builder } from './builder.ts';

type Types = typeof builder.$inferSchemaTypes;

/**
 * An object type whose resolvers return a row with the selected properties only. Its fields see a whole row, because
 * whatever a field reads is selected (see `reads.ts`): the property that it exposes, those that it declares, or all.
 */
export function recordRef<Row extends object, Selected extends Partial<Row>>(name: string) {
  return new ImplementableObjectRef<Types, Selected, Row>(builder, name);
}

/** The interface of such object types. */
export function recordInterfaceRef<Row extends object, Selected extends Partial<Row>>(name: string) {
  return new ImplementableInterfaceRef<Types, Selected, Row>(builder, name);
}
