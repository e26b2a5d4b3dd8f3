import { subscribeToPush, unsubscribeFromPush } from '@workspace-account/client';
import serviceWorkerUrl from '@workspace-account/client/push-service-worker.js?url&no-inline';
import {
  InboxFailure,
  NotificationPreferences,
  useEditorAuth,
  useInboxClient,
} from '@workspace-account/react';
import { type FormEvent, useState } from 'react';
import { say } from './words.ts';

/** The settings of an organization's member. */
export const Settings = () => (
  <>
    <h1 tabIndex={-1}>{say('Settings', 'Einstellungen')}</h1>
    <NotificationPreferences />
    <PushSettings />
    <EditorSettings />
  </>
);

const RESULTS = {
  subscribed: say('This browser shows messages.', 'Dieser Browser zeigt Nachrichten.'),
  notConfigured: say('The gateway sends no push messages.', 'Das Gateway sendet keine Push-Nachrichten.'),
  denied: say('This browser does not permit messages.', 'Dieser Browser erlaubt keine Nachrichten.'),
  unsupported: say('This browser has no push messages.', 'Dieser Browser hat keine Push-Nachrichten.'),
};

/** Turns push messages on and off for this browser. */
function PushSettings() {
  const inbox = useInboxClient();
  const [result, setResult] = useState('');
  const report = (work: Promise<string>) =>
    work.then(setResult, (error: unknown) =>
      setResult(error instanceof Error ? error.message : String(error)),
    );
  return (
    <section className="wa wa-panel">
      <h2>{say('This browser', 'Dieser Browser')}</h2>
      <p role="status">{result}</p>
      <button
        className="wa-button"
        type="button"
        onClick={() => void report(subscribeToPush(inbox, { serviceWorkerUrl }).then((one) => RESULTS[one]))}
      >
        {say('Show messages', 'Nachrichten zeigen')}
      </button>{' '}
      <button
        className="wa-button"
        type="button"
        onClick={() =>
          void report(unsubscribeFromPush(inbox).then(() => say('Turned off.', 'Abgeschaltet.')))
        }
      >
        {say('Turn off', 'Abschalten')}
      </button>
    </section>
  );
}

/** Connects the user's coding editor, or disconnects it. */
function EditorSettings() {
  const { editorAuth, connect, disconnect, change, error } = useEditorAuth();
  const isConnected = editorAuth !== undefined && editorAuth.auth.type !== 'NONE';
  const isSending = change.state === 'sending';
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    void connect({
      accessToken: String(fields.get('access')),
      refreshToken: String(fields.get('refresh')) || null,
    });
  };
  const failure = change.error ?? error;
  return (
    <section className="wa wa-panel">
      <h2>Editor</h2>
      {failure && <InboxFailure error={failure} />}
      {editorAuth?.needsReauth && (
        <p role="status">{say('Connect it again.', 'Verbinden Sie ihn erneut.')}</p>
      )}
      {isConnected && (
        <p>
          {say('Connected', 'Verbunden')}{' '}
          <button type="button" className="wa-button" disabled={isSending} onClick={() => void disconnect()}>
            {say('Disconnect', 'Trennen')}
          </button>
        </p>
      )}
      {editorAuth && (!isConnected || editorAuth.needsReauth) && (
        <form onSubmit={submit}>
          <label>
            {say('Access token', 'Zugangstoken')}{' '}
            <input name="access" type="password" autoComplete="off" required />
          </label>
          <label>
            {say('Refresh token (optional)', 'Erneuerungstoken (optional)')}{' '}
            <input name="refresh" type="password" autoComplete="off" />
          </label>
          <button type="submit" className="wa-button" disabled={isSending}>
            {say('Connect', 'Verbinden')}
          </button>
        </form>
      )}
    </section>
  );
}
