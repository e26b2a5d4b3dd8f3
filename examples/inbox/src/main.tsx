import '@workspace-account/react/styles.css';
import './app.css';
import { createInbox, onPushClick } from '@workspace-account/client';
import { InboxLocale, InboxMessages, InboxProvider } from '@workspace-account/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { locale, texts } from './words.ts';

let token: string | undefined;

const inbox = createInbox({
  url: '/graphql',
  async getToken(rejected) {
    if (token !== undefined && token !== rejected) return token;
    const reply = await fetch('/token');
    if (!reply.ok) throw new Error(`No token: status ${reply.status}.`);
    token = await reply.text();
    return token;
  },
});

onPushClick(({ notificationId }) => {
  location.hash = `/notification/${encodeURIComponent(notificationId)}`;
});

document.documentElement.lang = locale;

createRoot(document.getElementById('root') ?? document.body).render(
  <StrictMode>
    <InboxProvider inbox={inbox}>
      <InboxLocale locale={locale} texts={texts}>
        <InboxMessages>
          <App />
        </InboxMessages>
      </InboxLocale>
    </InboxProvider>
  </StrictMode>,
);
