/**
 * The pieces of the gateway that `--without` removes, and the module of each. The bench replaces the module by the one
 * of this folder that is named after the piece.
 */
export const pieces = {
  announcements: 'src/live/announcer.ts',
  'combined-writes': 'src/database/pool.ts',
  'compiled-execution': 'src/graphql/plugins/compiled-execution.ts',
  'pipelined-reads': 'src/database/pipeline.ts',
  'selected-columns': 'src/graphql/selected-fields.ts',
} as const;
export type Piece = keyof typeof pieces;

/** Narrows the name of a piece. */
export function isPiece(name: string): name is Piece {
  return Object.hasOwn(pieces, name);
}

/** Returns the options with which Node.js runs the gateway without a piece. */
export function listOptionsWithout(piece: Piece): string[] {
  return ['--import', new URL(`replace-module.ts?piece=${piece}`, import.meta.url).href];
}
