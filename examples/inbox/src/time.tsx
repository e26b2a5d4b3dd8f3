import { useEffect, useState } from 'react';

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const absolute = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

/** Returns the current time in milliseconds, and renders again when it has passed by `everyMs`. */
function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

function formatRelative(seconds: number): string {
  const size = Math.abs(seconds);
  if (size < 45) return seconds > 5 ? 'in less than a minute' : 'just now';
  if (size < 45 * 60) return relative.format(Math.round(seconds / 60), 'minute');
  if (size < 22 * 3600) return relative.format(Math.round(seconds / 3600), 'hour');
  return relative.format(Math.round(seconds / 86_400), 'day');
}

/** Shows a time relative to now, such as "5 minutes ago", and the exact time on hover. */
export function Time({ at }: { at: string }) {
  const time = Date.parse(at);
  const now = useNow(15_000);
  return (
    <time dateTime={at} title={absolute.format(time)}>
      {formatRelative((time - now) / 1000)}
    </time>
  );
}

/** Counts down to a time in milliseconds, after a text. Screen readers do not read every second. */
export function Countdown({ text, until }: { text: string; until: number | undefined }) {
  const now = useNow(250);
  if (until === undefined) return null;
  return (
    <span aria-live="off">
      {text} {Math.max(0, Math.ceil((until - now) / 1000))} s.
    </span>
  );
}
