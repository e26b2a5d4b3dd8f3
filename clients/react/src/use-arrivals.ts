import type { NotificationCard } from '@workspace-account/client';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useInboxClient } from './inbox-provider.tsx';

/** What is called with news, each with the notifications whose events arrived together. */
export type ArrivalListeners = {
  /** New active notifications. */
  onArrived?(cards: readonly NotificationCard[]): void;
  /** Notifications whose requests were settled, but not in this page. */
  onSettled?(cards: readonly NotificationCard[]): void;
};

/** What has arrived since the component was mounted. */
export type UseArrivals = {
  /** How many notifications have arrived, or have since the last `clear`. */
  readonly count: number;
  clear(): void;
};

/** Counts arrivals and reports news while the component is mounted, whichever lists are shown. */
export function useArrivals(listeners: ArrivalListeners = {}): UseArrivals {
  const inbox = useInboxClient();
  const [count, setCount] = useState(0);
  const latest = useRef(listeners);
  useEffect(() => {
    latest.current = listeners;
  });
  useEffect(() => {
    const ends = [
      inbox.on('arrived', (cards) => {
        setCount((before) => before + cards.length);
        latest.current.onArrived?.(cards);
      }),
      inbox.on('settled', (cards) => latest.current.onSettled?.(cards)),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, [inbox]);
  const clear = useCallback(() => setCount(0), []);
  return { count, clear };
}
