import { useEditorAuth } from '@workspace-account/react';
import { useTransition } from 'react';
import { Button, Form } from './controls.tsx';
import { useReport } from './failure.tsx';
import { Loaded } from './loaded.tsx';
import { toWords } from './texts.ts';

/** Connects the user's coding editor, or disconnects it. */
export function EditorSettings() {
  const { editorAuth, connect, disconnect, ...loading } = useEditorAuth();
  const [isSending, startSending] = useTransition();
  const report = useReport();
  const isConnected = editorAuth !== undefined && editorAuth.auth.type !== 'NONE';
  const submit = (fields: FormData) => {
    const accessToken = String(fields.get('access'));
    const refreshToken = String(fields.get('refresh')) || null;
    startSending(() => report(connect({ accessToken, refreshToken })));
  };
  return (
    <section className="panel">
      <h2>Editor</h2>
      <p className="hint">
        Tasks use the subscription of your coding editor. Its tokens are stored encrypted.
      </p>
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
            <Button disabled={isSending} onClick={() => startSending(() => report(disconnect()))}>
              Disconnect
            </Button>
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
