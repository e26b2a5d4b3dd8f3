import { GatewayError } from '@workspace-account/client';
import { Button } from './controls.tsx';
import { Countdown } from './time.tsx';
import { useToast } from './toasts.tsx';

const MESSAGES: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'Too many requests.',
  NETWORK_ERROR: 'The server cannot be reached.',
  INTERNAL_ERROR: 'The server has a problem.',
  UNAUTHENTICATED: 'Your session has ended. Sign in again.',
  NOT_FOUND: 'It does not exist any more.',
  ORG_MEMBERSHIP_REQUIRED: 'Only members of an organization have these settings.',
};

const describe = ({ code, message }: GatewayError) => MESSAGES[code] ?? message;

/** Shows why something failed, and when it is tried again: by the client if there is `retry`, otherwise by the user. */
export function Failure({ error, retry }: { error: GatewayError; retry?: () => void }) {
  const isFinal = error.code === 'ORG_MEMBERSHIP_REQUIRED';
  return (
    <div className={isFinal ? 'failure note' : 'failure'} role="alert">
      <p>
        {describe(error)}{' '}
        <Countdown text={retry ? 'Trying again in' : 'Try again in'} until={error.retryAt} />
      </p>
      {retry && !isFinal && error.retryAt === undefined && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** Returns a function that waits for a change, and shows a toast if it fails. */
export function useReport(): (change: Promise<unknown>) => Promise<void> {
  const showToast = useToast();
  return async (change) => {
    try {
      await change;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const when = error.retryAfter === undefined ? '' : ` Try again in ${error.retryAfter} s.`;
      showToast({ text: `Not saved. ${describe(error)}${when}`, isProblem: true });
    }
  };
}
