import { diffLines } from 'diff';
import { useMemo } from 'react';
import { useTexts } from './texts.tsx';

/** Longer unchanged parts are shortened to so many lines before and after a change. */
const CONTEXT_LINES = 2;

/** Comparing takes at most so long; then all is shown as changed. */
const MAX_COMPARE_MS = 200;

/** Shows what a text has that the one before has not, and the other way round, by lines. */
export function Difference({ before, after }: { before: string; after: string }) {
  const { t } = useTexts();
  const parts = useMemo(
    () =>
      diffLines(`${before}\n`, `${after}\n`, { timeout: MAX_COMPARE_MS }) ?? [
        { value: before, removed: true, added: false },
        { value: after, removed: false, added: true },
      ],
    [before, after],
  );
  if (before === after) return <p>{t('theSame')}</p>;
  return (
    <div className="wa-difference" dir="auto">
      {parts.map(({ value, added, removed }, index) => {
        const Line = added ? 'ins' : removed ? 'del' : 'span';
        const text = added || removed ? value : shorten(value, index > 0, index < parts.length - 1);
        // biome-ignore lint/suspicious/noArrayIndexKey: a part is identified by its place.
        return <Line key={index}>{text.replace(/\n$/, '')}</Line>;
      })}
    </div>
  );
}

/** Leaves out the lines of an unchanged part that are far from the changes before and after it. */
function shorten(text: string, isAfterChange: boolean, isBeforeChange: boolean): string {
  const lines = text.replace(/\n$/, '').split('\n');
  const [head, tail] = [isAfterChange ? CONTEXT_LINES : 0, isBeforeChange ? CONTEXT_LINES : 0];
  if (lines.length <= head + tail + 1) return text;
  return [...lines.slice(0, head), '…', ...lines.slice(lines.length - tail)].join('\n');
}
