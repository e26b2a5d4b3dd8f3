import { useConnection } from '@workspace-account/react';
import { useState } from 'react';
import { Countdown } from './time.tsx';

/** Says whether changes arrive as they happen, and otherwise when the next attempt is. */
export function ConnectionState() {
  const { state, retryAt } = useConnection();
  const [isOffline, setIsOffline] = useState(false);
  // An attempt that may fail again does not make it blink.
  const isOfflineNow = state === 'waiting' || (isOffline && state === 'connecting');
  if (isOffline !== isOfflineNow) setIsOffline(isOfflineNow);
  return (
    <div className={`connection ${isOfflineNow ? 'offline' : state}`} role="status">
      {isOfflineNow ? (
        <p>
          <strong>You are offline.</strong> What you see may be out of date.{' '}
          <Countdown text="Trying again in" until={retryAt} />
        </p>
      ) : (
        <p>{state === 'live' ? 'Live' : state === 'signedOut' ? 'Signed out' : 'Connecting'}</p>
      )}
    </div>
  );
}
