/** The analysis of selected fields, except that every list reads all properties. */
export * from '../../src/graphql/selected-fields.ts';

export const findSelectedProperties = () => undefined;
