import type { GatewayError } from '@workspace-account/client';
import type { Loading, UseInbox } from '@workspace-account/react';
import type { ReactNode } from 'react';
import { Button, Icon, type IconName, leaving } from './controls.tsx';
import { Countdown, describeError } from './texts.tsx';

const focus = (heading: HTMLElement | null) => heading?.focus();

type ScreenProps = { title: string; action?: ReactNode; children: ReactNode };

/** A screen. Its title names the page, and gets the focus when the screen is opened. */
export function Screen({ title, action, children }: ScreenProps) {
  return (
    <main>
      <title>{title}</title>
      <div className="screen-head">
        <h1 ref={focus} tabIndex={-1}>
          {title}
        </h1>
        {action}
      </div>
      {children}
    </main>
  );
}

type LoadedProps = { of: Loading & Partial<UseInbox>; isMissing: boolean; children: ReactNode };

/** Shows loaded data: before, outlines of cards; after a failure, the reason; at the end, a button for more. */
export function Loaded({ of, isMissing, children }: LoadedProps) {
  const { error, reload, isLoading, hasMore, loadMore } = of;
  return (
    <>
      {error && <Failure error={error} retry={reload} />}
      {isMissing && !error && <div className="skeleton" role="status" aria-label="Loading" />}
      {children}
      {hasMore && loadMore && (
        <Button label="Show earlier" className="more" disabled={isLoading} onClick={leaving(loadMore)} />
      )}
    </>
  );
}

/** Says that there is nothing to show. */
export const Empty = ({ icon, title, text }: { icon: IconName; title: string; text: string }) => (
  <div className="empty">
    <Icon name={icon} />
    <h2>{title}</h2>
    <p>{text}</p>
  </div>
);

/** Shows why something failed, and when it is tried again: by the client if there is `retry`, otherwise by the user. */
export function Failure({ error, retry }: { error: GatewayError; retry?: () => void }) {
  const isFinal = error.code === 'ORG_MEMBERSHIP_REQUIRED';
  return (
    <div className={isFinal ? 'failure note' : 'failure'} role="alert">
      <p>
        {describeError(error)}{' '}
        <Countdown text={retry ? 'Trying again in' : 'Try again in'} until={error.retryAt} />
      </p>
      {retry && !isFinal && error.retryAt === undefined && (
        <Button label="Try again" onClick={leaving(retry)} />
      )}
    </div>
  );
}
