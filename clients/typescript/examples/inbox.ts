import { createInbox } from '@workspace-account/client';

/** Prints the titles of the active notifications: when they are loaded, and after every change. */
export function watchInbox(url: string, token: string): () => void {
  const inbox = createInbox({ url, getToken: () => token });
  const list = inbox.notifications();
  return list.subscribe(() => {
    const { data, error } = list.get();
    console.log(error ? error.code : data?.notifications.map(({ title }) => title));
  });
}
