import type { GatewayError } from '@workspace-account/client';
import type { ReactNode } from 'react';
import type { UseInbox } from '../use-inbox.ts';
import type { Loading } from '../use-resource.ts';
import { Button, Icon, type IconName, leaving } from './controls.tsx';
import { Countdown, useTexts } from './texts.tsx';

type LoadedProps = { of: Loading & Partial<UseInbox>; isMissing: boolean; children: ReactNode };

/** Shows loaded data: before, outlines of cards; after a failure, the reason; at the end, a button for more. */
export function Loaded({ of, isMissing, children }: LoadedProps) {
  const { t } = useTexts();
  const { error, reload, isLoading, hasMore, loadMore } = of;
  return (
    <>
      {error && <InboxFailure error={error} retry={reload} />}
      {isMissing && !error && <div className="wa-skeleton" role="status" aria-label={t('loading')} />}
      {children}
      {hasMore && loadMore && (
        <Button
          label={t('showEarlier')}
          className="wa-more"
          disabled={isLoading}
          onClick={leaving(loadMore)}
        />
      )}
    </>
  );
}

/** Says that there is nothing to show. */
export const Empty = ({ icon, title, text }: { icon: IconName; title: string; text: string }) => (
  <div className="wa-empty">
    <Icon name={icon} />
    <p className="wa-empty-title">{title}</p>
    <p>{text}</p>
  </div>
);

/** What an {@link InboxFailure} shows. */
export type InboxFailureProps = { readonly error: GatewayError; readonly retry?: () => unknown };

/** Shows why something failed, and when it is tried again: by the client if there is `retry`, otherwise by the user. */
export function InboxFailure({ error, retry }: InboxFailureProps) {
  const { t, describeError } = useTexts();
  const isFinal = error.code === 'ORG_MEMBERSHIP_REQUIRED';
  return (
    <div className={`wa wa-failure ${isFinal ? 'wa-note' : ''}`} role="alert">
      <p>
        {describeError(error)} <Countdown text={retry ? 'tryingAgain' : 'tryAgainIn'} until={error.retryAt} />
      </p>
      {retry && !isFinal && (
        <Button label={t(error.retryAt === undefined ? 'tryAgain' : 'tryNow')} onClick={leaving(retry)} />
      )}
    </div>
  );
}
