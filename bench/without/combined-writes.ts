/** The pools, without writing the statements of a transaction, or of concurrent reads, at once. */
export * from '../../src/database/pool.ts';

export const holdWrites = () => () => undefined;
