import type { Loading } from '@workspace-account/react';
import type { ReactNode } from 'react';
import { Button, Icon, type IconName } from './controls.tsx';
import { Failure } from './failure.tsx';

type Props = {
  of: Loading & { hasMore?: boolean; loadMore?(): Promise<void> };
  isMissing: boolean;
  children: ReactNode;
};

/** Shows loaded data: before, outlines of cards; after a failure, the reason; at the end, a button for more. */
export function Loaded({ of: { error, reload, isLoading, hasMore, loadMore }, isMissing, children }: Props) {
  return (
    <>
      {error && <Failure error={error} retry={reload} />}
      {isMissing && !error && <div className="skeleton" role="status" aria-label="Loading" />}
      {children}
      {hasMore && (
        <Button className="more" disabled={isLoading} onClick={loadMore}>
          Show earlier
        </Button>
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
