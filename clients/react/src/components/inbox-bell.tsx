import { type FocusEvent, type ReactNode, useState } from 'react';
import { useCounts } from '../use-counts.ts';
import { Icon } from './controls.tsx';
import { Inbox } from './inbox.tsx';
import { useTexts } from './texts.tsx';

/** What an {@link InboxBell} does. */
export type InboxBellProps = {
  /** The page with the inbox. Without it, the bell opens an inbox beneath itself. */
  readonly href?: string;
  /** What it opens instead of `<Inbox level={2} />`. */
  readonly children?: ReactNode;
};

/** A bell with the number of active notifications, which opens the inbox. */
export function InboxBell({ href, children = <Inbox level={2} /> }: InboxBellProps) {
  const { t } = useTexts();
  const total = useCounts().counts?.total ?? 0;
  const [isOpen, setIsOpen] = useState(false);
  const label = t('bell', { count: total });
  const content = (
    <>
      <Icon name="bell" />
      {total > 0 && <span className="wa-badge">{total > 99 ? '99+' : total}</span>}
    </>
  );
  if (href !== undefined)
    return (
      <a className="wa wa-bell" href={href} aria-label={label}>
        {content}
      </a>
    );
  const closeOnLeave = ({ relatedTarget, currentTarget }: FocusEvent) => {
    if (relatedTarget !== null && !currentTarget.contains(relatedTarget)) setIsOpen(false);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes what the button opened.
    <div
      className="wa wa-bell-menu"
      onBlur={closeOnLeave}
      onKeyDown={({ key }) => key === 'Escape' && setIsOpen(false)}
    >
      <button
        type="button"
        className="wa-bell"
        aria-label={label}
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        {content}
      </button>
      {isOpen && <div className="wa-popover">{children}</div>}
    </div>
  );
}
