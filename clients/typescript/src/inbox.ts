import { type AccountEvent, hasGap } from './account-events.ts';
import { AccountStore } from './account-store.ts';
import { signedOut } from './gateway-error.ts';
import { ActiveCounts } from './generated/documents.ts';
import { createChanges } from './inbox-changes.ts';
import { createResources, deliveriesKey, type Send } from './inbox-resources.ts';
import type { Inbox, InboxEvents, InboxOptions } from './inbox-types.ts';
import { dehydrate, hydrate } from './initial-data.ts';
import { createLiveEvents } from './live-events.ts';
import { findNews } from './news.ts';
import { Listeners } from './observable.ts';
import { unsubscribeFromPush } from './push.ts';
import { mutationDelay, queryDelay, retry } from './retries.ts';
import { createSession } from './session.ts';
import { emptyState, forgetArrivals } from './state.ts';
import { execute, expectValue } from './transport.ts';

/** Creates the inbox of a user. Nothing happens before it is used: no request, timer, stream or lock. */
export function createInbox(options: InboxOptions): Inbox {
  const session = createSession(options, forget);
  const initial = options.initialData === undefined ? emptyState : hydrate(options.initialData);
  const store = new AccountStore(session, refresh, initial);
  const waker = new Listeners();
  /** Since when the inbox receives every change. */
  let followedSince = Date.now();
  const live = createLiveEvents(session, { onEvents, onGap: reloadAll, waker });
  const listeners: { [Type in keyof InboxEvents]: Set<(cards: InboxEvents[Type]) => void> } = {
    arrived: new Set(),
    settled: new Set(),
  };
  const send: Send = (document, variables, signal) => execute(session, document, variables, signal);
  const { created, ...resources } = createResources(
    store,
    send,
    {
      shown: () => store.shown,
      initial,
      signal: () => session.signal,
      hold: live.hold,
      follows: live.follows,
      isLive: () => live.connection.get().state === 'live',
      waker,
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
    followedSince = Date.now();
    store.update(forgetArrivals);
    invalidate();
  }

  function onEvents(events: readonly AccountEvent[]): void {
    const isGap = events.some(hasGap);
    const followedMs = isGap ? 0 : Date.now() - followedSince;
    const { arrived, settled } = findNews(store.known, events, ownAnswers, followedMs);
    store.receive(events);
    store.forgetUnused((key) => created.get(key)?.isUsed() ?? false);
    for (const { content } of events) {
      if (content.__typename === 'NotificationEvent')
        created.get(deliveriesKey(content.notification.id))?.invalidate();
    }
    if (isGap) reloadAll();
    if (arrived.length > 0) for (const listener of [...listeners.arrived]) listener(arrived);
    if (settled.length > 0) for (const listener of [...listeners.settled]) listener(settled);
  }

  // What could not be loaded while the gateway was unreachable is loaded now.
  live.connection.subscribe(() => {
    if (live.connection.get().state !== 'live') return;
    waker.notify();
    for (const resource of created.values()) resource.resume();
  });

  const { ownAnswers, ...changes } = createChanges(store, send, session);

  const request: Inbox['request'] = async (document, variables) => {
    // First, so that the request belongs to the account of the token.
    await session.identify();
    const { signal } = session;
    const delay = document.text.startsWith('mutation') ? mutationDelay : queryDelay;
    return retry(() => send(document, variables, signal), delay, signal);
  };

  return {
    ...resources,
    ...changes,
    connection: live.connection,
    reconnect() {
      waker.notify();
      for (const resource of created.values()) resource.retry();
    },
    on(type, listener) {
      const own: typeof listener = (cards) => listener(cards);
      listeners[type].add(own);
      const release = live.hold();
      return () => {
        if (listeners[type].delete(own)) release();
      };
    },
    dehydrate: () => dehydrate(store.known, session.account),
    request,
    async countActive({ kinds = null, projectIds = null } = {}) {
      const filter = { statuses: ['ACTIVE'] as const, kinds, projectIds };
      const variables = { all: filter, open: { ...filter, requestStates: ['OPEN'] as const } };
      const { all, open } = await request(ActiveCounts, variables);
      return { total: expectValue(all).totalCount, openRequests: expectValue(open).totalCount };
    },
    async signOut() {
      const last = session.signOut();
      live.signOut();
      store.clear();
      invalidate();
      await unsubscribeFromPush({
        async request(document, variables) {
          if (last === undefined) throw signedOut();
          return execute(last, document, variables);
        },
      }).catch(() => undefined);
    },
  };
}
