import type { Log } from '../log.ts';

/** A gateway that does not receive its own announcement within this time is assumed to receive none. */
const RECEIVE_TIMEOUT_MS = 2000;

/** Checks that a gateway receives its own announcements. */
export type ReceiptCheck = {
  /** Whether the gateway receives its own announcements. */
  readonly isReceiving: boolean;
  noteSent(number: number): void;
  noteReceived(number: number): void;
  stop(): void;
};

/** Creates a check. It logs when announcements cease to arrive, and when they arrive again. */
export function createReceiptCheck(log: Log): ReceiptCheck {
  let isReceiving = true;
  let lastReceived = 0;
  let timer: NodeJS.Timeout | undefined;

  return {
    get isReceiving() {
      return isReceiving;
    },
    noteSent(number) {
      timer ??= setTimeout(() => {
        timer = undefined;
        if (lastReceived >= number || !isReceiving) return;
        isReceiving = false;
        log.warn(
          'announcements are not arriving; events from other gateways are delayed until the next sweep',
        );
      }, RECEIVE_TIMEOUT_MS).unref();
    },
    noteReceived(number) {
      lastReceived = Math.max(lastReceived, number);
      if (!isReceiving) log.info('announcements arrive again');
      isReceiving = true;
    },
    stop: () => clearTimeout(timer),
  };
}
