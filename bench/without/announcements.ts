import type { createAnnouncer as original } from '../../src/live/announcer.ts';

/** Creates an announcer that notifies the gateway's own subscribers and no other gateway. */
export const createAnnouncer: typeof original = (_place, hub) => ({
  announce(changes) {
    for (const change of 'user' in changes ? [changes] : changes) hub.wake(change);
  },
  receive({ changes }) {
    for (const change of changes) hub.wake(change);
  },
  probe: () => undefined,
  isReceiving: true,
  close: async () => undefined,
});
