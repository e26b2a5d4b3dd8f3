import {
  createInbox,
  type Inbox,
  type InboxOptions,
  type NotificationList,
  type Store,
} from '../../clients/typescript/src/index.ts';
import { member } from '../support/tokens.ts';

/** The inboxes that a test opened. */
export type ClientInboxes = {
  /** Opens the inbox of a member at a gateway. */
  open(at: { address: string }, user: string, options?: Partial<InboxOptions>): Inbox;
  /** Signs out of all of them. */
  close(): void;
};

/** Opens inboxes that are closed together. */
export function openInboxes(): ClientInboxes {
  const opened: Inbox[] = [];
  return {
    open({ address }, user, options = {}) {
      const inbox = createInbox({ url: `${address}/graphql`, getToken: () => member(user), ...options });
      opened.push(inbox);
      return inbox;
    },
    close() {
      for (const inbox of opened.splice(0)) void inbox.signOut();
    },
  };
}

/** Subscribes to a store, and returns a function that reads it. */
export function watch<State>(store: Store<State>): () => State {
  store.subscribe(() => undefined);
  return () => store.get();
}

/** Returns the IDs that a list shows. */
export const shownIds = (list: NotificationList) => list.get().data?.notifications.map(({ id }) => id);
