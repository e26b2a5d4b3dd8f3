import { registerHooks } from 'node:module';

/*
 * Loaded before the gateway, it makes one that does not announce its changes to others, and is the same in everything
 * else: its announcer is replaced by the one of `quiet-announcer.ts`.
 */

const announcer = new URL('../../src/live/announcer.ts', import.meta.url).href;
const quiet = new URL('quiet-announcer.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url === announcer ? { ...found, url: quiet } : found;
  },
});
