import { type AnswerContent, createInbox, type Inbox } from '@workspace-account/client';
import { StrictMode, useState } from 'react';
import { createRoot, hydrateRoot, type Root } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { InboxProvider, useAnswer, useCounts, useInbox, useNotification } from '../src/index.ts';

/*
 * The page of test/foreign/react-hooks.test.ts, which calls the functions of `window.page` and
 * `window.answering`. It shows what the hooks return as text.
 */

let user = 'alice';

const open = () =>
  createInbox({
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

/** Lists open requests, newest first or reversed, each with a button that approves it. */
function Cards() {
  const { notifications = [] } = useInbox({ requestStates: ['OPEN'] });
  const [isReversed, setIsReversed] = useState(false);
  Object.assign(window, { cards: { reverse: () => setIsReversed(!isReversed) } });
  const shown = isReversed ? notifications.toReversed() : notifications;
  return shown.map(({ id, title }) => <Card key={id} id={id} title={title} />);
}

function Card({ id, title }: { id: string; title: string }) {
  const { ref, isReady, answer } = useAnswer({ id });
  return (
    <article ref={ref} aria-label={title}>
      <button type="button" aria-disabled={!isReady} onClick={() => answer(APPROVAL)}>
        Approve {title}
      </button>
    </article>
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
    mountAnswering: (ids: readonly string[]) => {
      root = createRoot(container);
      root.render(app(inbox, <Answering ids={ids} />));
    },
    mountCards: () => {
      root = createRoot(container);
      root.render(app(inbox, <Cards />));
    },
    countRenders: () => renders,
  },
});
