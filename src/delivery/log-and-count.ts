import type { Log } from '../log.ts';
import type { DeliveryMetrics } from '../metrics/delivery-metrics.ts';
import type { AttemptOutcome } from './channel.ts';
import type { Claim } from './claim-due.ts';

/** The outcome of a delivery that expires before another attempt. */
export const expired = { kind: 'expired', reason: 'expired' } as const;

/** Logs and counts an attempt, or a delivery that expired. */
export function logAndCount(
  { log, metrics }: { log: Log; metrics: DeliveryMetrics },
  { userId, notificationId, channel, step, attempts }: Claim,
  outcome: AttemptOutcome | typeof expired,
  isStored: boolean,
): void {
  const { kind, ...failure } = outcome;
  const { reason, providerCode } = { reason: undefined, providerCode: undefined, ...failure };
  const what = kind === 'expired' ? 'delivery expired' : 'delivery attempt';
  log.info(
    {
      user: userId,
      notification: notificationId,
      channel,
      step,
      attempts,
      outcome: kind,
      reason,
      providerCode,
    },
    isStored ? what : `${what}; the lease was lost and the result is discarded`,
  );
  metrics.countAttempt(channel, reason ?? 'delivered');
}
