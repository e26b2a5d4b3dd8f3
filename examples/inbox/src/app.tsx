import { useConnection, useCounts } from '@workspace-account/react';
import { useSyncExternalStore } from 'react';
import { Icon, ToastProvider } from './controls.tsx';
import { InboxScreen } from './inbox-screen.tsx';
import { SettingsScreen } from './settings-screen.tsx';
import { Countdown } from './texts.tsx';
import { WorkspacesScreen } from './workspaces-screen.tsx';

const LINKS = [
  { to: 'inbox', name: 'Inbox', icon: 'bell' },
  { to: 'workspaces', name: 'Workspaces', icon: 'box' },
  { to: 'settings', name: 'Settings', icon: 'settings' },
] as const;

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

/** The whole page: navigation, and the screen that the fragment of the URL names. */
export function App() {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  const [screen = '', tab = ''] = (hash.slice(2) || 'inbox').split('/');
  const total = useCounts().counts?.total ?? 0;
  return (
    <ToastProvider>
      <header>
        <p className="brand">
          <Icon name="inbox" /> Workspace account
        </p>
        <nav className="menu" aria-label="Main">
          {LINKS.map(({ to, name, icon }) => (
            <a key={to} href={`#/${to}`} aria-current={to === screen ? 'page' : undefined}>
              <Icon name={icon} />
              {name}
              {to === 'inbox' && total > 0 && <span className="badge">{total > 99 ? '99+' : total}</span>}
            </a>
          ))}
        </nav>
        <ConnectionState />
      </header>
      {screen === 'inbox' && <InboxScreen tab={tab} />}
      {screen === 'workspaces' && <WorkspacesScreen />}
      {screen === 'settings' && <SettingsScreen />}
    </ToastProvider>
  );
}

/** Says whether changes arrive as they happen, and otherwise when the next attempt is. */
function ConnectionState() {
  const { state, retryAt, error } = useConnection();
  return (
    <div className={`connection ${error ? 'offline' : state}`} role="status">
      {!error && <p>{state === 'live' ? 'Live' : 'Connecting'}</p>}
      {error && (
        <p>
          <strong>You are offline.</strong> What you see may be out of date.{' '}
          <Countdown text="Trying again in" until={retryAt} />
        </p>
      )}
    </div>
  );
}
