import { registerHooks } from 'node:module';
import { isPiece, pieces } from './pieces.ts';

/* Preloaded into a gateway, replaces the module of the piece that the URL of this module names. */

const piece = new URL(import.meta.url).searchParams.get('piece') ?? '';
if (!isPiece(piece)) throw new Error(`There is no piece "${piece}".`);
const module = new URL(`../../${pieces[piece]}`, import.meta.url).href;
const replacement = new URL(`${piece}.ts`, import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    // The replacement itself may import the module.
    const isReplaced = found.url === module && context.parentURL !== replacement;
    return isReplaced ? { ...found, url: replacement } : found;
  },
});
