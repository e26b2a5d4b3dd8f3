import type { Answer, GatewayError, NotificationCard } from '@workspace-account/client';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { type Dictionary, en } from './dictionary.ts';

/** The language of the components. */
export type LocaleOptions = {
  /** A BCP 47 tag, by which numbers, times and plural forms are chosen. */
  readonly locale: string;
  readonly texts: Dictionary;
  /** Names the user who answered. Default: the ID. */
  nameUser?(id: string): string;
};

const LocaleContext = createContext<LocaleOptions>({ locale: 'en', texts: en });

/** Chooses the language of the components below it; English without it. */
export const InboxLocale = ({ children, ...options }: LocaleOptions & { readonly children?: ReactNode }) => (
  <LocaleContext.Provider value={options}>{children}</LocaleContext.Provider>
);

type Values = { readonly count?: number; readonly [name: string]: string | number | undefined };

/** Returns functions that write in the user's language. */
export function useTexts() {
  const { locale, texts, nameUser } = useContext(LocaleContext);
  return useMemo(
    () => createTexts({ locale, texts, ...(nameUser && { nameUser }) }),
    [locale, texts, nameUser],
  );
}

function createTexts({ locale, texts, nameUser = (id) => id }: LocaleOptions) {
  const plurals = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const absolute = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
  const isKey = (key: string): key is keyof Dictionary => Object.hasOwn(texts, key);

  function t(key: keyof Dictionary, values: Values = {}): string {
    const text = texts[key];
    const pattern =
      typeof text === 'string' ? text : (text[plurals.select(Number(values.count))] ?? text.other);
    return pattern.replace(/\{(\w+)\}/g, (_match, name: string) => {
      const value = values[name] ?? '';
      return typeof value === 'number' ? numbers.format(value) : value;
    });
  }

  /** The text of a value of an enum; of one that later versions of the gateway add, its name. */
  const name = (value: string, prefix = '', suffix = '') => {
    const key = `${prefix}${value}${suffix}`;
    return isKey(key) ? t(key) : toWords(value);
  };

  const describeAnswer = ({ plan, reply }: Answer): string =>
    plan ? name(plan.decision) : (reply?.text ?? t('answered'));

  /** What became of a request in a few words, and `Text` in a sentence. The reason says more than the state. */
  function describeOutcome({ request, resolution }: NotificationCard, suffix: '' | 'Text' = ''): string {
    const state = request?.state ?? 'OPEN';
    if (state === 'ANSWERED') return t('answered');
    if (state === 'EXPIRED') return t(`expired${suffix}`);
    const isReason = resolution !== null && resolution !== 'ANSWERED' && resolution !== 'EXPIRED';
    return isReason ? name(resolution, '', suffix) : t(`withdrawn${suffix}`);
  }

  return {
    locale,
    t,
    name,
    nameKind: (kind: string) => (isKey(kind) ? t(kind) : t('otherKind')),
    /** An answer in a few words. */
    describeAnswer,
    /** An answer with all that it says, such as "Changes requested: Smaller steps" or "Yes, deploy". */
    describeWholeAnswer(answer: Answer): string {
      const { plan, questions } = answer;
      if (plan?.feedback) return `${describeAnswer(answer)}: ${plan.feedback}`;
      if (!questions) return describeAnswer(answer);
      const answers = questions.map(({ question, labels, other }) => ({
        question,
        text: [...labels, ...(other === null ? [] : [other])].join(', '),
      }));
      if (answers.length === 1) return answers.map(({ text }) => text).join();
      return answers.map(({ question, text }) => `${question} ${text}`).join('; ');
    },
    /** Who answered, and how. */
    describeAuthor({ by, via }: Answer): string {
      if (via === 'DEFAULT') return t('byDefault');
      const key = `by${via}`;
      return t(isKey(key) ? key : 'byGRAPHQL', { user: by === null ? t('someone') : nameUser(by) });
    },
    describeOutcome,
    /** News of a settlement: by whom, if that is known. */
    describeSettlement(card: NotificationCard): string {
      const { by = null, via } = card.request?.answer ?? {};
      const values = { status: describeOutcome(card), title: card.title };
      if (via === 'EMAIL') return t('settledByEMAIL', values);
      if (by === null) return t('settledOther', values);
      return t(via === 'CHAT' ? 'settledByCHAT' : 'settledBy', { ...values, user: nameUser(by) });
    },
    /** The status of a notification in a few words, `undefined` while it is simply active. */
    describeStatus(card: NotificationCard): string | undefined {
      const { status, request } = card;
      if (request?.state === 'OPEN') return t(status === 'DISMISSED' ? 'waitingDismissed' : 'waitingStatus');
      if (status === 'DISMISSED') return t('dismissed');
      if (request) return describeOutcome(card);
      return status === 'ACTIVE' ? undefined : t('resolved');
    },
    /** Why something failed. */
    describeError({ code, message }: GatewayError): string {
      if (code === 'NETWORK_ERROR' && navigator.onLine === false) return t('offline');
      return isKey(code) ? t(code) : message;
    },
    formatTime: (time: number) => absolute.format(time),
    formatRelative(seconds: number): string {
      const size = Math.abs(seconds);
      if (size < 45) return t(seconds > 5 ? 'soon' : 'justNow');
      if (size < 45 * 60) return relative.format(Math.round(seconds / 60), 'minute');
      if (size < 22 * 3600) return relative.format(Math.round(seconds / 3600), 'hour');
      return relative.format(Math.round(seconds / 86_400), 'day');
    },
  };
}

/** Turns the name of an enum value into words: `NO_TARGET` into "No target". */
function toWords(value: string): string {
  const words = value.replaceAll('_', ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the current time in milliseconds, and renders again when it has passed by `everyMs`. */
function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Shows a time relative to now, such as "5 minutes ago", and the exact time on hover. Clocks differ a little. */
export function Time({ at, isFuture = false }: { at: string; isFuture?: boolean }) {
  const { formatTime, formatRelative } = useTexts();
  const time = Date.parse(at);
  const now = useNow(15_000);
  const seconds = (time - now) / 1000;
  // A server has another time zone and another time.
  return (
    <time dateTime={at} title={formatTime(time)} suppressHydrationWarning>
      {formatRelative(isFuture ? seconds : Math.min(0, seconds))}
    </time>
  );
}

/** Counts down to a time in milliseconds. Screen readers do not read every second. */
export function Countdown({
  text,
  until,
}: {
  text: 'tryingAgain' | 'tryAgainIn';
  until: number | undefined;
}) {
  const { t } = useTexts();
  const now = useNow(250);
  if (until === undefined) return null;
  return <span aria-live="off">{t(text, { seconds: Math.max(0, Math.ceil((until - now) / 1000)) })}</span>;
}
