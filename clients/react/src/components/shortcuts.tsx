import { type KeyboardEvent, useState } from 'react';
import { Button } from './controls.tsx';
import { useMessages } from './messages.tsx';
import { useTexts } from './texts.tsx';

const SHORTCUTS = [
  ['j', 'shortcutNext'],
  ['k', 'shortcutPrevious'],
  ['e', 'shortcutDismiss'],
  ['u', 'shortcutUndo'],
  ['a', 'shortcutAnswer'],
  ['x', 'shortcutSelect'],
  ['?', 'shortcutHelp'],
] as const;

const TYPING = 'input:not([type=checkbox], [type=radio]), textarea, select, dialog, [contenteditable]';
const ANSWERS = ':is(button, input, textarea):not(:disabled)';

/** Returns a handler of keys that are pressed in an inbox, and the list of shortcuts while it is open. */
export function useShortcuts() {
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  const { undoLast } = useMessages();

  function onKeyDown(event: KeyboardEvent<HTMLElement>): void {
    const { key, target, currentTarget } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!(target instanceof HTMLElement) || target.closest(TYPING)) return;
    const card = target.closest<HTMLElement>('.wa-card');
    if (key === 'j' || key === 'k') move(currentTarget, card, key === 'j' ? 1 : -1);
    else if (key === 'e') card?.querySelector<HTMLElement>('.wa-dismiss')?.click();
    else if (key === 'x') card?.querySelector<HTMLElement>('.wa-select')?.click();
    else if (key === 'a')
      card?.querySelector<HTMLElement>(`.wa-request > :not([hidden]) ${ANSWERS}`)?.focus();
    else if (key === 'u') undoLast();
    else if (key === '?') setIsHelpOpen(true);
    else return;
    event.preventDefault();
  }

  const help = isHelpOpen && <Help close={() => setIsHelpOpen(false)} />;
  return { onKeyDown, help, openHelp: () => setIsHelpOpen(true) };
}

/** Moves the focus to the card after or before a card, or to the first one. */
function move(inbox: Element, card: HTMLElement | null, by: 1 | -1): void {
  const cards = [...inbox.querySelectorAll<HTMLElement>('.wa-card')];
  const next = card === null ? cards[0] : cards[cards.indexOf(card) + by];
  next?.querySelector<HTMLElement>('.wa-card-title')?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

const openModal = (dialog: HTMLDialogElement | null) => {
  if (dialog !== null && !dialog.open) dialog.showModal();
};

function Help({ close }: { close(): void }) {
  const { t } = useTexts();
  return (
    <dialog ref={openModal} className="wa-dialog" aria-label={t('shortcuts')} onClose={close}>
      <p className="wa-lead">{t('shortcuts')}</p>
      <dl className="wa-shortcuts">
        {SHORTCUTS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
      <div className="wa-actions">
        <Button label={t('close')} onClick={close} />
      </div>
    </dialog>
  );
}
