import type {
  Inbox as InboxClient,
  NotificationCard,
  NotificationFilter,
  NotificationKind,
} from '@workspace-account/client';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { InboxProvider } from '../inbox-provider.tsx';
import { useActions } from '../use-actions.ts';
import { useCounts } from '../use-counts.ts';
import { Button, focusTitle } from './controls.tsx';
import { DismissAll, useReportDismissal } from './dismiss-all.tsx';
import { InboxConnection } from './inbox-connection.tsx';
import { InboxList, type InboxSlots, type InboxView, VIEWS } from './inbox-list.tsx';
import { type AnnouncementOptions, WithMessages } from './messages.tsx';
import { useShortcuts } from './shortcuts.tsx';
import { useTexts } from './texts.tsx';

/** What an {@link Inbox} shows, and how. */
export type InboxProps = AnnouncementOptions & {
  /** The inbox. Not needed below an `InboxProvider`. */
  readonly inbox?: InboxClient;
  /** The view that is open. Without it, the component remembers which one the user chose. */
  readonly view?: InboxView | undefined;
  onViewChange?(view: InboxView): void;
  /** The level of the title as a heading, 1 by default; those of cards are one below. */
  readonly level?: 1 | 2;
  readonly slots?: InboxSlots;
  /** Whether the state of the connection is shown; true by default. An app that shows it elsewhere does not need it. */
  readonly connection?: boolean;
};

/** Shows the user's notifications with all that a user does with them. Requires `styles.css` of the package. */
export function Inbox({ inbox, title, sound, ...props }: InboxProps) {
  const options = { ...(title !== undefined && { title }), ...(sound !== undefined && { sound }) };
  const content = (
    <WithMessages {...options}>
      <InboxSection {...props} />
    </WithMessages>
  );
  return inbox === undefined ? content : <InboxProvider inbox={inbox}>{content}</InboxProvider>;
}

const NO_SLOTS: InboxSlots = {};
const KINDS: readonly NotificationKind[] = [
  'PLAN_REQUESTED',
  'QUESTION_REQUESTED',
  'TASK_FAILED',
  'TASK_RESPONSE_READY',
];
const FILTERS: Readonly<Record<InboxView, NotificationFilter>> = {
  active: { statuses: ['ACTIVE'] },
  waiting: { requestStates: ['OPEN'] },
  all: {},
};

type Chosen = { readonly kind?: NotificationKind | undefined; readonly projectId?: string | undefined };

type SectionProps = Omit<InboxProps, 'inbox' | 'title' | 'sound'>;

function InboxSection({
  view: givenView,
  onViewChange,
  level = 1,
  slots = NO_SLOTS,
  connection = true,
}: SectionProps) {
  const { t } = useTexts();
  const { counts } = useCounts();
  const [ownView, setOwnView] = useState<InboxView>('active');
  const view = givenView ?? ownView;
  const [chosen, setChosen] = useState<Chosen>({});
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [projects, setProjects] = useState<ReadonlyMap<string, string>>(new Map());
  const { onKeyDown, help, openHelp } = useShortcuts();
  const { kind, projectId } = chosen;
  const filter = useMemo(
    () => ({ ...(kind && { kinds: [kind] }), ...(projectId && { projectIds: [projectId] }) }),
    [kind, projectId],
  );
  const select = useCallback((id: string, isSelected: boolean) => {
    setSelected((before) => new Set(isSelected ? [...before, id] : [...before].filter((one) => one !== id)));
  }, []);
  const onListed = useCallback((cards: readonly NotificationCard[]) => {
    setProjects((before) => addProjects(before, cards));
    setSelected((before) => keepActive(before, cards));
  }, []);
  const open = (next: InboxView) => {
    setOwnView(next);
    setSelected(new Set());
    onViewChange?.(next);
  };
  const Title = level === 1 ? 'h1' : 'h2';
  const count = { active: counts?.total, waiting: counts?.openRequests, all: undefined };
  const hint = counts && describeView();
  return (
    <section className="wa wa-inbox" aria-label={t('inbox')} onKeyDown={onKeyDown}>
      <div className="wa-head">
        <Title className="wa-title" tabIndex={-1}>
          {t('inbox')}
        </Title>
        {connection && <InboxConnection />}
        <div className="wa-head-tools">
          {view === 'active' && counts !== undefined && counts.total > 1 && <DismissAll filter={filter} />}
          <Button label={t('shortcuts')} icon="keyboard" onClick={openHelp} />
        </div>
      </div>
      <nav className="wa-views" aria-label={t('views')}>
        {VIEWS.map((one) => (
          <button
            type="button"
            key={one}
            aria-current={one === view ? 'page' : undefined}
            onClick={() => open(one)}
          >
            {t(one)} {count[one] !== undefined && <span className="wa-count">{count[one]}</span>}
          </button>
        ))}
      </nav>
      <div className="wa-filters">
        {hint && <p className="wa-hint">{hint}</p>}
        <Choice
          label={t('kindFilter')}
          value={kind}
          choose={(next) => setChosen({ ...chosen, kind: KINDS.find((one) => one === next) })}
        >
          <option value="">{t('allKinds')}</option>
          {KINDS.map((one) => (
            <option key={one} value={one}>
              {t(one)}
            </option>
          ))}
        </Choice>
        {(projects.size > 1 || projectId !== undefined) && (
          <Choice
            label={t('projectFilter')}
            value={projectId}
            choose={(next) => setChosen({ ...chosen, projectId: next || undefined })}
          >
            <option value="">{t('allProjects')}</option>
            {[...projects].map(([id, name]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Choice>
        )}
      </div>
      {selected.size > 0 && <Selection selected={selected} clear={() => setSelected(new Set())} />}
      <InboxList
        key={`${view} ${kind} ${projectId}`}
        filter={{ ...FILTERS[view], ...filter }}
        isFiltered={kind !== undefined || projectId !== undefined}
        {...{ view, level, slots, selected, select, onListed }}
      />
      {help}
    </section>
  );

  /** Explains what the number of the open view counts. */
  function describeView(): string | undefined {
    const number = count[view];
    if (number === undefined || number === 0) return undefined;
    return t(view === 'active' ? 'activeHint' : 'waitingHint', { count: number });
  }
}

type ChoiceProps = {
  label: string;
  value: string | undefined;
  choose(value: string): void;
  children: ReactNode;
};

const Choice = ({ label, value = '', choose, children }: ChoiceProps) => (
  <select
    className="wa-choice"
    aria-label={label}
    value={value}
    onChange={({ target }) => choose(target.value)}
  >
    {children}
  </select>
);

/** What the user can do with the selected notifications. */
function Selection({ selected, clear }: { selected: ReadonlySet<string>; clear(): void }) {
  const { t } = useTexts();
  const { dismissMany } = useActions();
  const reportDismissal = useReportDismissal();
  const dismiss = (button: Element) => {
    focusTitle(button);
    clear();
    void reportDismissal(dismissMany([...selected]));
  };
  return (
    <fieldset className="wa-selection" aria-label={t('selected', { count: selected.size })}>
      <p>{t('selected', { count: selected.size })}</p>
      <Button
        label={t('dismiss')}
        className="wa-primary"
        onClick={({ currentTarget }) => dismiss(currentTarget)}
      />
      <Button label={t('clearSelection')} onClick={clear} />
    </fieldset>
  );
}

function addProjects(
  before: ReadonlyMap<string, string>,
  cards: readonly NotificationCard[],
): ReadonlyMap<string, string> {
  const added = cards.filter(({ task }) => !before.has(task.projectId));
  if (added.length === 0) return before;
  return new Map([
    ...before,
    ...added.map(({ task, projectName }) => [task.projectId, projectName ?? task.projectId] as const),
  ]);
}

/** Leaves out what is no longer active, and so has no checkbox. */
function keepActive(selected: ReadonlySet<string>, cards: readonly NotificationCard[]): ReadonlySet<string> {
  if (selected.size === 0) return selected;
  const active = new Set(cards.filter(({ status }) => status === 'ACTIVE').map(({ id }) => id));
  const kept = [...selected].filter((id) => active.has(id));
  return kept.length === selected.size ? selected : new Set(kept);
}
