import { ImplementableInterfaceRef, ImplementableObjectRef } from '@pothos/core';
import { builder } from './builder.ts';

type Types = typeof builder.$inferSchemaTypes;

/**
 * An object type of records. Resolvers that return a record return the selected properties only. Its own fields see a
 * whole row, because `selectedProperties` selects what they read: the exposed property, the declared ones, or all.
 */
export function recordRef<Row extends object, Selected extends Partial<Row>>(name: string) {
  return new ImplementableObjectRef<Types, Selected, Row>(builder, name);
}

/** The interface of such object types. */
export function recordInterfaceRef<Row extends object, Selected extends Partial<Row>>(name: string) {
  return new ImplementableInterfaceRef<Types, Selected, Row>(builder, name);
}
