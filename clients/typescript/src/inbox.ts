import { type AccountEvent, hasGap } from './account-events.ts';
import { AccountStore } from './account-store.ts';
import { createChanges } from './inbox-changes.ts';
import { createResources, deliveriesKey, type Send } from './inbox-resources.ts';
import type { Inbox, InboxOptions } from './inbox-types.ts';
import { createLiveEvents } from './live-events.ts';
import { mutationDelay, queryDelay, retry } from './retries.ts';
import { createSession } from './session.ts';
import { applyEvents, forgetArrivals } from './state.ts';
import { execute } from './transport.ts';

/** Creates the inbox of a user. Nothing happens before it is used: no request, timer, stream or lock. */
export function createInbox(options: InboxOptions): Inbox {
  const session = createSession(options, forget);
  const store = new AccountStore(session, refresh);
  const live = createLiveEvents(session, onEvents);
  const send: Send = (document, variables, signal) => execute(session, document, variables, signal);
  const { created, ...resources } = createResources(
    store,
    send,
    { shown: () => store.shown, signal: () => session.signal, hold: live.hold, follows: live.follows },
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

  function onEvents(events: readonly AccountEvent[]): void {
    store.update((state) => applyEvents(state, events));
    if (events.some(hasGap)) {
      store.update(forgetArrivals);
      invalidate();
      return;
    }
    for (const { content } of events) {
      if (content.__typename === 'StreamStart') for (const resource of created.values()) resource.resume();
      if (content.__typename === 'NotificationEvent')
        created.get(deliveriesKey(content.notification.id))?.invalidate();
    }
  }

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
