import { useConnection } from '../use-connection.ts';
import { Button } from './controls.tsx';
import { Countdown, useTexts } from './texts.tsx';

/** Says whether changes arrive as they happen; otherwise why not, and when the next attempt is, with a button for now. */
export function InboxConnection() {
  const { t, describeError } = useTexts();
  const { state, retryAt, error, reconnect } = useConnection();
  const isLost = state === 'offline' || state === 'waiting';
  return (
    <div className="wa wa-connection" data-state={state} role="status">
      {!isLost && <p>{t(state === 'live' ? 'live' : 'connecting')}</p>}
      {isLost && (
        <>
          <p>
            <strong>{state === 'offline' || !error ? t('offline') : describeError(error)}</strong>{' '}
            {t('outdated')} <Countdown text="tryingAgain" until={retryAt} />
          </p>
          <Button label={t('tryNow')} onClick={reconnect} />
        </>
      )}
    </div>
  );
}
