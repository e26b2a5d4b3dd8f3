import {
  Inbox,
  InboxConnection,
  InboxNotification,
  type InboxView,
  useCounts,
} from '@workspace-account/react';
import { useEffect, useSyncExternalStore } from 'react';
import { Settings } from './settings.tsx';
import { say } from './words.ts';
import { Workspaces } from './workspaces.tsx';

const LINKS = [
  { to: 'inbox', name: say('Inbox', 'Posteingang') },
  { to: 'workspaces', name: say('Workspaces', 'Arbeitsbereiche') },
  { to: 'settings', name: say('Settings', 'Einstellungen') },
] as const;

const VIEWS: readonly InboxView[] = ['active', 'waiting', 'all'];

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

/** Reads which screen the fragment of the URL names, and what that shows. If it names none, that is the inbox. */
function readFragment(fragment: string): { screen: string; detail: string } {
  const [name = '', detail = ''] = fragment.slice(2).split('/');
  const isScreen = name === 'notification' ? detail !== '' : LINKS.some(({ to }) => to === name);
  return { screen: isScreen ? name : 'inbox', detail: decode(detail) };
}

/** Decodes a part of a URL. What is not encoded correctly stays as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The whole page: navigation, and the screen that the fragment of the URL names. */
export function App() {
  const { screen, detail } = readFragment(useSyncExternalStore(subscribe, () => location.hash));
  const { counts: { total = 0 } = {} } = useCounts();
  // The title of a screen gets the focus when it is opened.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another screen has another title.
  useEffect(() => document.querySelector<HTMLElement>('h1')?.focus(), [screen]);
  return (
    <>
      <header>
        <p className="brand">Workspace account</p>
        <nav aria-label={say('Main', 'Hauptmenü')}>
          {LINKS.map(({ to, name }) => (
            <a key={to} href={`#/${to}`} aria-current={to === screen ? 'page' : undefined}>
              {name}
              {to === 'inbox' && total > 0 && <span className="badge">{total > 99 ? '99+' : total}</span>}
            </a>
          ))}
        </nav>
        <InboxConnection />
      </header>
      <main>
        <title>
          {LINKS.find(({ to }) => to === screen)?.name ?? say('Notification', 'Benachrichtigung')}
        </title>
        {screen === 'inbox' && (
          <Inbox
            connection={false}
            view={VIEWS.find((view) => view === detail) ?? 'active'}
            onViewChange={(view) => {
              location.hash = `/inbox/${view}`;
            }}
          />
        )}
        {screen === 'notification' && (
          <>
            <h1 tabIndex={-1}>{say('Notification', 'Benachrichtigung')}</h1>
            <InboxNotification id={detail} />
          </>
        )}
        {screen === 'workspaces' && <Workspaces />}
        {screen === 'settings' && <Settings />}
      </main>
    </>
  );
}
