import { registerHooks } from 'node:module';

/* Preloaded into a gateway, replaces its announcer with `local-announcer.ts`, which makes no announcements. */

const announcer = new URL('../../src/live/announcer.ts', import.meta.url).href;
const replacement = new URL('local-announcer.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url === announcer ? { ...found, url: replacement } : found;
  },
});
