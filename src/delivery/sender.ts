import { setTimeout as pause } from 'node:timers/promises';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { type Capacity, type Claim, claimDue } from './claim-due.ts';
import { type DeliveryOptions, deliver } from './deliver.ts';
import { loadClaimed } from './load-claimed.ts';

/** Sends the deliveries that are due, until it is stopped. */
export type Sender = {
  /** Looks for due deliveries now instead of at the next sweep. */
  wake(): void;
  /** Stops claiming, and waits up to `graceMs` for running attempts. Others send what is left when the leases expire. */
  stop(graceMs: number): Promise<void>;
};

/** The interval of sweeps. They find deliveries whose delay or lease is over, and those that were not announced. */
const SWEEP_MS = 500;

/** The interval of sweeps while the database fails. */
const SWEEP_AFTER_ERROR_MS = 5000;

/** Starts to send. Claims only as many deliveries as it can send at once, so that none waits while its lease runs. */
export function startSender(options: DeliveryOptions): Sender {
  const { em, transports, providers, log } = options;
  const running = new Map<DeliveryChannel, Set<Promise<void>>>();
  const stopping = new AbortController();
  let awaken = new AbortController();
  const finished = run();
  const sender: Sender = {
    wake: () => awaken.abort(),
    async stop(graceMs) {
      stopping.abort();
      await finished;
      const attempts = [...running.values()].flatMap((set) => [...set]);
      await Promise.race([Promise.all(attempts), pause(graceMs, undefined, { ref: false })]);
      await Promise.all(Array.from(transports.values(), (transport) => transport.close()));
    },
  };
  return sender;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      awaken = new AbortController();
      let intervalMs = SWEEP_MS;
      try {
        while (await claimBatch()) if (stopping.signal.aborted) return;
      } catch (error) {
        intervalMs = SWEEP_AFTER_ERROR_MS;
        log.warn({ err: error }, 'claiming deliveries failed; retrying');
      }
      const signal = AbortSignal.any([awaken.signal, stopping.signal]);
      await pause(intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Claims due deliveries and starts their attempts. Returns whether there may be more that can be sent now. */
  async function claimBatch(): Promise<boolean> {
    const capacity = findCapacity();
    if (capacity.size === 0) return false;
    const claims = await claimDue(em, capacity);
    if (claims.length === 0) return false;
    const loaded = await loadClaimed(em, claims);
    for (const claim of claims) {
      const found = loaded.find((row) => isSame(row, claim));
      // Without a row, the user was deleted.
      if (found !== undefined) start(claim.channel, deliver(options, claim, found));
    }
    return true;
  }

  /** Few slots are not worth a claim: the next attempts that finish free more. */
  function findCapacity(): Capacity {
    const capacity = new Map<DeliveryChannel, number>();
    for (const [channel, { concurrency }] of transports) {
      const used = running.get(channel)?.size ?? 0;
      // The provider of a channel is named after it, except for push, whose providers are checked for each delivery.
      const admitted = providers.get(channel).health.admit(performance.now(), used);
      const free = Math.min(concurrency - used, admitted);
      if (free > 0 && (used === 0 || free >= concurrency / 2)) capacity.set(channel, free);
    }
    return capacity;
  }

  function start(channel: DeliveryChannel, attempt: Promise<void>): void {
    const attempts = running.get(channel) ?? new Set();
    running.set(channel, attempts.add(attempt));
    attempt
      .catch((error: unknown) =>
        log.error({ err: error }, 'a delivery failed; it is repeated when its lease expires'),
      )
      .finally(() => {
        attempts.delete(attempt);
        sender.wake();
      });
  }
}

type Key = Pick<Claim, 'userId' | 'notificationId' | 'channel' | 'target'>;

function isSame(a: Key, b: Key): boolean {
  return (
    a.userId === b.userId &&
    a.notificationId === b.notificationId &&
    a.channel === b.channel &&
    a.target === b.target
  );
}
