import { type AnswerContent, createInbox, type Inbox, type InitialData } from '@workspace-account/client';
import { StrictMode, Suspense, useState } from 'react';
import { createRoot, hydrateRoot, type Root } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import {
  de,
  en,
  InboxBell,
  InboxBoundary,
  Inbox as InboxComponent,
  InboxLocale,
  InboxProvider,
  type InboxSlots,
  useAnswer,
  useCounts,
  useInbox,
  useNotification,
  useSuspenseInbox,
} from '../src/index.ts';

/*
 * The page of test/foreign/react-hooks.test.ts, which calls the functions of `window.page` and
 * `window.answering`. It shows what the hooks return as text.
 */

let user = 'alice';

const open = (initialData?: InitialData, pageSize = 20) =>
  createInbox({
    ...(initialData && { initialData }),
    pageSize,
    url: '/graphql',
    getToken: async (rejected) => (await fetch(`/token?user=${user}&rejected=${rejected ?? ''}`)).text(),
  });

let renders = 0;

/** Lists notifications by a filter that is another object in every render. */
function List() {
  renders += 1;
  const { notifications, isLoading, error, connection } = useInbox({ statuses: ['ACTIVE'] });
  const { counts } = useCounts();
  const state = error?.code ?? (isLoading && notifications === undefined ? 'loading' : 'loaded');
  return (
    <p id="list">
      {state} {connection.state} {counts?.total ?? '-'} {notifications?.map(({ title }) => title).join()}
    </p>
  );
}

function Answering({ ids }: { ids: readonly string[] }) {
  const [id, setId] = useState(ids[0] ?? '');
  const [above, setAbove] = useState(0);
  const { ref, isReady, answer, state, outcome, error } = useAnswer({ id });
  const { notification } = useNotification(id);
  Object.assign(window, {
    answering: { answer: (content: AnswerContent) => void answer(content), select: setId, setAbove },
  });
  const winner = outcome?.type === 'alreadySettled' ? outcome.answer?.plan?.decision : undefined;
  return (
    <>
      <div style={{ height: above }} />
      <p id="answer">
        {state} {winner} {error?.code} {notification?.request?.state}
      </p>
      <button type="button" ref={ref} aria-disabled={!isReady} onClick={() => answer(APPROVAL)}>
        Approve
      </button>
      <div style={{ height: 5000 }} />
    </>
  );
}

const APPROVAL: AnswerContent = { plan: { decision: 'APPROVE' } };

function Suspended() {
  const { notifications } = useSuspenseInbox();
  return (
    <p>
      {notifications.length}: {notifications.map(({ title }) => title).join(', ')}
    </p>
  );
}

const suspended = (
  <InboxBoundary
    fallback={({ error, retry }) => (
      <p>
        Failed: {error.code}{' '}
        <button type="button" onClick={retry}>
          Retry
        </button>
      </p>
    )}
  >
    <Suspense fallback="Suspended">
      <Suspended />
    </Suspense>
  </InboxBoundary>
);

const slots: InboxSlots = {
  content: ({ notification, children }) => (
    <>
      <p>Of task {notification.task.id}</p>
      {children}
    </>
  ),
  foot: ({ notification }) => <a href={`#${notification.id}`}>Task</a>,
  empty: ({ view }) => <p>Empty {view}</p>,
};

type ComponentOptions = {
  locale?: 'en' | 'de';
  dir?: 'ltr' | 'rtl';
  pageSize?: number;
  hasSlots?: boolean;
  sound?: string;
};

/** The components, with all that can be chosen. */
const showComponents = (shown: Inbox, { locale = 'en', hasSlots = false, sound }: ComponentOptions) =>
  app(
    shown,
    <InboxLocale locale={locale} texts={{ en, de }[locale]} nameUser={(id) => id.toUpperCase()}>
      <header>
        <InboxBell />
      </header>
      <main>
        <InboxComponent {...(hasSlots && { slots })} {...(sound && { sound })} />
      </main>
    </InboxLocale>,
  );

/** Dismisses notifications, and shows how far that has come. */
function Changing() {
  const { notifications = [], dismiss, change } = useInbox();
  return (
    <>
      <p>
        {change.state} {change.error?.code}
      </p>
      {notifications.map(({ id, title }) => (
        <button type="button" key={id} onClick={() => dismiss(id)}>
          Dismiss {title}
        </button>
      ))}
    </>
  );
}

const app = (inbox: Inbox, content = <List />) => (
  <StrictMode>
    <InboxProvider inbox={inbox}>{content}</InboxProvider>
  </StrictMode>
);

const container = document.createElement('div');
document.body.append(container);
let root: Root | undefined;
let inbox = open();

Object.assign(window, {
  page: {
    mount: () => {
      root = createRoot(container);
      root.render(app(inbox));
    },
    unmount: () => root?.unmount(),
    remount: () => {
      root?.unmount();
      root = createRoot(container);
      root.render(app(inbox));
    },
    setUser: (next: string) => {
      user = next;
    },
    reload: () => inbox.notifications().reload(),
    replaceInbox: () => {
      inbox = open();
      root?.render(app(inbox));
    },
    signOut: () => inbox.signOut(),
    hydrate: () => {
      const html = renderToString(app(inbox));
      container.innerHTML = html;
      root = hydrateRoot(container, app(inbox));
      return html;
    },
    hydrateLoaded: async () => {
      const server = open();
      await Promise.all([server.notifications().reload(), server.counts.reload()]);
      const initialData: InitialData = JSON.parse(JSON.stringify(server.dehydrate()));
      const html = renderToString(app(open(initialData)));
      container.innerHTML = html;
      root = hydrateRoot(container, app(open(initialData)));
      return html;
    },
    mountSuspended: () => {
      root = createRoot(container);
      root.render(app(inbox, suspended));
    },
    mountComponents: (options: ComponentOptions = {}) => {
      document.documentElement.lang = options.locale ?? 'en';
      document.documentElement.dir = options.dir ?? 'ltr';
      Object.assign(document.documentElement.style, {
        colorScheme: 'light dark',
        background: 'light-dark(#fff, #121212)',
      });
      inbox = open(undefined, options.pageSize);
      root = createRoot(container);
      root.render(showComponents(inbox, options));
    },
    loadAll: async () => {
      const list = inbox.notifications();
      while (list.get().data?.hasMore) await list.loadMore();
      return list.get().data?.notifications.length;
    },
    mountChanging: () => {
      root = createRoot(container);
      root.render(app(inbox, <Changing />));
    },
    mountAnswering: (ids: readonly string[]) => {
      root = createRoot(container);
      root.render(app(inbox, <Answering ids={ids} />));
    },
    countRenders: () => renders,
  },
});
