import { createInbox } from '@workspace-account/client';
import { InboxProvider } from '@workspace-account/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';

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

createRoot(document.getElementById('root') ?? document.body).render(
  <StrictMode>
    <InboxProvider inbox={inbox}>
      <App />
    </InboxProvider>
  </StrictMode>,
);
