import type { NotificationPreferenceInput } from '@workspace-account/client';
import { useEditorAuth, usePreferences } from '@workspace-account/react';
import { useTransition } from 'react';
import { Button, Form, useReport } from './controls.tsx';
import { Loaded, Screen } from './screen.tsx';
import { describeKind, toWords } from './texts.tsx';

const CHANNELS = [
  { name: 'Email', field: 'emailEnabled' },
  { name: 'Push', field: 'pushEnabled' },
  { name: 'Chat', field: 'chatDmEnabled' },
] as const;

/** The settings of an organization's member. */
export const SettingsScreen = () => (
  <Screen title="Settings">
    <Preferences />
    <EditorSettings />
  </Screen>
);

/** Chooses the channels of each kind of notification. */
function Preferences() {
  const { preferences, update, ...loading } = usePreferences();
  const report = useReport();
  const set = (item: NotificationPreferenceInput) => report(update([item]));
  return (
    <section className="panel">
      <h2>Messages</h2>
      <p className="hint">Where you hear about notifications. The inbox always shows all of them.</p>
      <Loaded of={loading} isMissing={preferences === undefined}>
        <table hidden={preferences === undefined}>
          <thead>
            <tr>
              <th>When</th>
              {CHANNELS.map(({ name }) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {preferences?.map(({ notificationKind: kind, ...enabled }) => (
              <tr key={kind}>
                <th scope="row">{describeKind(kind).when}</th>
                {CHANNELS.map(({ name, field }) => (
                  <td key={name}>
                    <input
                      type="checkbox"
                      aria-label={`${name}: ${describeKind(kind).when}`}
                      checked={enabled[field]}
                      onChange={({ target }) => set({ notificationKind: kind, [field]: target.checked })}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Loaded>
    </section>
  );
}

/** Connects the user's coding editor, or disconnects it. */
function EditorSettings() {
  const { editorAuth, connect, disconnect, ...loading } = useEditorAuth();
  const [isSending, startSending] = useTransition();
  const report = useReport();
  const isConnected = editorAuth !== undefined && editorAuth.auth.type !== 'NONE';
  const submit = (fields: FormData) => {
    const accessToken = String(fields.get('access'));
    const refreshToken = String(fields.get('refresh')) || null;
    startSending(() => report(connect({ accessToken, refreshToken })));
  };
  const handleDisconnect = () => startSending(() => report(disconnect()));
  return (
    <section className="panel">
      <h2>Editor</h2>
      <p className="hint">Tasks use your editor's subscription. Its tokens are stored encrypted.</p>
      <Loaded of={loading} isMissing={editorAuth === undefined}>
        {editorAuth?.needsReauth && (
          <p className="note" role="status">
            Connect your editor again. {toWords(editorAuth.reauthReason ?? '')}.
          </p>
        )}
        {isConnected && (
          <div className="actions">
            <span className="pill" data-tone={editorAuth.needsReauth ? 'ERROR' : 'RUNNING'}>
              {editorAuth.needsReauth ? 'Not working' : 'Connected'}
            </span>
            <Button label="Disconnect" disabled={isSending} onClick={handleDisconnect} />
          </div>
        )}
        {editorAuth && (!isConnected || editorAuth.needsReauth) && (
          <Form action="Connect" isSending={isSending} submit={submit}>
            <label>
              Access token <input name="access" type="password" autoComplete="off" required />
            </label>
            <label>
              Refresh token (optional) <input name="refresh" type="password" autoComplete="off" />
            </label>
          </Form>
        )}
      </Loaded>
    </section>
  );
}
