import { type AccountEvent, hasGap } from './account-events.ts';
import { AccountStore } from './account-store.ts';
import { createChanges } from './inbox-changes.ts';
import { createResources, deliveriesKey, type Send } from './inbox-resources.ts';
import type { Inbox, InboxOptions } from './inbox-types.ts';
import { createLiveEvents } from './live-events.ts';
import { mutationDelay, queryDelay, retry } from './retries.ts';
import { createSession } from './session.ts';
import { forgetArrivals } from './state.ts';
import { execute } from './transport.ts';

/** Creates the inbox of a user. Nothing happens before it is used: no request, timer, stream or lock. */
export function createInbox(options: InboxOptions): Inbox {
  const session = createSession(options, forget);
  const store = new AccountStore(session, refresh);
  const live = createLiveEvents(session, { onEvents, onGap: reloadAll });
  const send: Send = (document, variables, signal) => execute(session, document, variables, signal);
  const { created, ...resources } = createResources(
    store,
    send,
    {
      shown: () => store.shown,
      signal: () => session.signal,
      hold: live.hold,
      follows: live.follows,
      isLive: () => live.connection.get().state === 'live',
      hasEvents: true,
    },
    options.pageSize ?? 20,
  );

  function refresh(): void {
    for (const resource of created.values()) resource.refresh();
  }

  function invalidate(): void {
    for (const resource of created.values()) resource.invalidate();
  }

  /** Begins anew, because the account changed. */
  function forget(): void {
    live.switchAccount();
    store.clear();
    invalidate();
  }

  /** Loads everything that is shown again, because changes may have been missed. */
  function reloadAll(): void {
    store.update(forgetArrivals);
    invalidate();
  }

  function onEvents(events: readonly AccountEvent[]): void {
    store.receive(events);
    store.forgetUnused((key) => created.get(key)?.isUsed() ?? false);
    for (const { content } of events) {
      if (content.__typename === 'NotificationEvent')
        created.get(deliveriesKey(content.notification.id))?.invalidate();
    }
    if (events.some(hasGap)) reloadAll();
  }

  // What could not be loaded while the gateway was unreachable is loaded now.
  live.connection.subscribe(() => {
    if (live.connection.get().state !== 'live') return;
    for (const resource of created.values()) resource.resume();
  });

  return {
    ...resources,
    ...createChanges(store, send, session),
    connection: live.connection,
    async request(document, variables) {
      // First, so that the request belongs to the account of the token.
      await session.identify();
      const { signal } = session;
      const delay = document.text.startsWith('mutation') ? mutationDelay : queryDelay;
      return retry(() => send(document, variables, signal), delay, signal);
    },
    signOut() {
      session.signOut();
      live.signOut();
      store.clear();
      invalidate();
    },
  };
}
