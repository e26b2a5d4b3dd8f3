import type { NotificationPreferenceInput } from '@workspace-account/client';
import { usePreferences } from '../use-preferences.ts';
import { Loaded } from './loaded.tsx';
import { useReport, WithMessages } from './messages.tsx';
import { useTexts } from './texts.tsx';

const CHANNELS = [
  { channel: 'EMAIL', field: 'emailEnabled' },
  { channel: 'PUSH', field: 'pushEnabled' },
  { channel: 'CHAT_DM', field: 'chatDmEnabled' },
] as const;

/** Chooses the channels of each kind of notification. */
export const NotificationPreferences = ({ level = 2 }: { readonly level?: 1 | 2 }) => (
  <WithMessages>
    <PreferencesSection level={level} />
  </WithMessages>
);

function PreferencesSection({ level }: { level: 1 | 2 }) {
  const { t, name } = useTexts();
  const { preferences, update, change: _change, ...loading } = usePreferences();
  const report = useReport();
  const set = (item: NotificationPreferenceInput) => void report(update([item]));
  const Title = level === 1 ? 'h1' : 'h2';
  return (
    <section className="wa wa-panel">
      <Title>{t('messages')}</Title>
      <p className="wa-hint">{t('messagesHint')}</p>
      <Loaded of={loading} isMissing={preferences === undefined}>
        <table hidden={preferences === undefined}>
          <thead>
            <tr>
              <th scope="col">{t('when')}</th>
              {CHANNELS.map(({ channel }) => (
                <th key={channel} scope="col">
                  {t(channel)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {preferences?.map(({ notificationKind: kind, ...enabled }) => (
              <tr key={kind}>
                <th scope="row">{name(kind, 'when')}</th>
                {CHANNELS.map(({ channel, field }) => (
                  <td key={channel}>
                    <input
                      type="checkbox"
                      aria-label={`${t(channel)}: ${name(kind, 'when')}`}
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
