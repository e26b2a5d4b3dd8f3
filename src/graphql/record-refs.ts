import { ImplementableInterfaceRef, ImplementableObjectRef } from '@pothos/core';
import { builder } from './builder.ts';

type Types = typeof builder.$inferSchemaTypes;

/**
 * Creates the reference of an object type for records. Resolvers return records with the selected properties only.
 * Fields are typed with the whole row, because `findSelectedProperties` selects everything they read.
 */
export function createRecordRef<Row extends object, Selected extends Partial<Row>>(name: string) {
  return new ImplementableObjectRef<Types, Selected, Row>(builder, name);
}

/** Creates the reference of an interface for such object types. */
export function createRecordInterfaceRef<Row extends object, Selected extends Partial<Row>>(name: string) {
  return new ImplementableInterfaceRef<Types, Selected, Row>(builder, name);
}
