import type { DismissAllFilter } from '@workspace-account/client';
import { useState } from 'react';
import { useInboxClient } from '../inbox-provider.tsx';
import { type NotificationActions, useActions } from '../use-actions.ts';
import { useChange } from '../use-change.ts';
import { Button, focusTitle } from './controls.tsx';
import { useMessages, useReport } from './messages.tsx';
import { useTexts } from './texts.tsx';

type Counted = { total: number; openRequests: number };

/** Returns a function that waits for a dismissal of several notifications, and offers to undo it. */
export function useReportDismissal(): (
  dismissal: ReturnType<NotificationActions['dismissMany']>,
) => Promise<void> {
  const { t } = useTexts();
  const { show, offerUndo } = useMessages();
  const { track } = useChange();
  const report = useReport();
  return async (dismissing) => {
    let isUndone = false;
    const undo = async () => {
      isUndone = true;
      const { value } = await dismissing;
      if (value) await report(track(value.undo()));
    };
    // The user may want it back before the reply says how many were dismissed.
    offerUndo(undo);
    const { value } = await report(dismissing);
    if (value && !isUndone) show({ text: t('dismissedMany', { count: value.count }), undo });
  };
}

/** A button that asks how many notifications to dismiss, and whether open requests too, before it dismisses them. */
export function DismissAll({ filter }: { filter: Pick<DismissAllFilter, 'kinds' | 'projectIds'> }) {
  const { t } = useTexts();
  const inbox = useInboxClient();
  const report = useReport();
  const { track } = useChange();
  const [counted, setCounted] = useState<Counted>();
  const ask = async () => {
    const { value } = await report(track(inbox.countActive(filter)));
    setCounted(value);
  };
  return (
    <>
      <Button
        label={t('dismissAll')}
        className="wa-quiet"
        aria-haspopup="dialog"
        onClick={() => void ask()}
      />
      {counted && <Question filter={filter} counted={counted} close={() => setCounted(undefined)} />}
    </>
  );
}

const openModal = (dialog: HTMLDialogElement | null) => {
  if (dialog !== null && !dialog.open) dialog.showModal();
};

type QuestionProps = {
  filter: Pick<DismissAllFilter, 'kinds' | 'projectIds'>;
  counted: Counted;
  close(): void;
};

function Question({ filter, counted: { total, openRequests }, close }: QuestionProps) {
  const { t } = useTexts();
  const { dismissAll } = useActions();
  const reportDismissal = useReportDismissal();
  const [includesOpen, setIncludesOpen] = useState(false);
  const count = includesOpen ? total : total - openRequests;
  const dismiss = (button: Element) => {
    // While it is open, nothing outside can have the focus.
    button.closest('dialog')?.close();
    focusTitle(button);
    void reportDismissal(dismissAll({ ...filter, openRequests: includesOpen }));
  };
  return (
    <dialog ref={openModal} className="wa-dialog" aria-label={t('dismissAllAsk', { count })} onClose={close}>
      <p className="wa-lead">{t('dismissAllAsk', { count })}</p>
      {openRequests > 0 && (
        <label className="wa-check">
          <input
            type="checkbox"
            checked={includesOpen}
            onChange={({ target }) => setIncludesOpen(target.checked)}
          />
          {t('dismissAllOpen', { count: openRequests })}
        </label>
      )}
      <div className="wa-actions">
        <Button
          label={t('dismissCount', { count })}
          className="wa-primary"
          disabled={count === 0}
          onClick={({ currentTarget }) => dismiss(currentTarget)}
        />
        <Button label={t('cancel')} onClick={close} />
      </div>
    </dialog>
  );
}
