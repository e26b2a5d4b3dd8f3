import { usePreferences } from '@workspace-account/react';
import { EditorSettings } from './editor-settings.tsx';
import { useReport } from './failure.tsx';
import { Heading } from './heading.tsx';
import { Loaded } from './loaded.tsx';
import { describeKind } from './texts.ts';

const CHANNELS = [
  { name: 'Email', field: 'emailEnabled' },
  { name: 'Push', field: 'pushEnabled' },
  { name: 'Chat', field: 'chatDmEnabled' },
] as const;

/** The settings of an organization's member. */
export function SettingsScreen() {
  const { preferences, update, ...loading } = usePreferences();
  const report = useReport();
  return (
    <>
      <Heading title="Settings" />
      <section className="panel">
        <h2>Messages</h2>
        <p className="hint">
          The channels on which you hear about notifications. The inbox always shows all of them.
        </p>
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
                        onChange={({ target: { checked } }) =>
                          report(update([{ notificationKind: kind, [field]: checked }]))
                        }
                      />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Loaded>
      </section>
      <EditorSettings />
    </>
  );
}
