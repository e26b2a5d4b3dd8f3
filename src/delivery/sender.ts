import { setTimeout as pause } from 'node:timers/promises';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { type ChannelCapacity, type Claim, claimDue, type ProviderCapacity } from './claim-due.ts';
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

/** The pause between two claims, so that one claim covers more deliveries. */
const COLLECT_MS = 10;

/** Starts to send. Claims only as many deliveries as it can send at once, so that none waits while its lease runs. */
export function startSender(options: DeliveryOptions): Sender {
  const { em, transports, providers, log } = options;
  const running = new Map<DeliveryChannel, Set<Promise<void>>>();
  let isStopping = false;
  let sleep = new AbortController();
  const finished = run();
  const sender: Sender = {
    wake: () => sleep.abort(),
    async stop(graceMs) {
      isStopping = true;
      sleep.abort();
      await finished;
      const attempts = [...running.values()].flatMap((set) => [...set]);
      await Promise.race([Promise.all(attempts), pause(graceMs, undefined, { ref: false })]);
      await Promise.all(Array.from(transports.values(), (transport) => transport.close()));
    },
  };
  return sender;

  async function run(): Promise<void> {
    while (!isStopping) {
      // Replaced before the claim, so that a wake during the claim leads to another one.
      sleep = new AbortController();
      const { signal } = sleep;
      const sleepMs = await claimBatch().then(
        (claimed) => (claimed === 0 ? SWEEP_MS : 0),
        (error: unknown) => {
          log.warn({ err: error }, 'claiming deliveries failed; retrying');
          return SWEEP_AFTER_ERROR_MS;
        },
      );
      await pause(sleepMs, undefined, { signal }).catch(() => undefined);
      await pause(COLLECT_MS);
    }
  }

  /** Claims due deliveries, starts their attempts and returns their number. */
  async function claimBatch(): Promise<number> {
    const free = listFreeChannels();
    if (free.length === 0) return 0;
    const claimedAt = performance.now();
    const claims = await claimDue(em, free, listRestrictedProviders());
    if (claims.length === 0) return 0;
    const loaded = await loadClaimed(em, claims);
    for (const claim of claims) {
      const found = loaded.find((row) => isSame(row, claim));
      // Without a row, the user was deleted.
      if (found !== undefined) start(claim.channel, deliver(options, { claim, loaded: found, claimedAt }));
    }
    return claims.length;
  }

  function listFreeChannels(): ChannelCapacity[] {
    return Array.from(transports, ([channel, { concurrency, concurrencyPerProvider }]) => {
      const used = running.get(channel)?.size ?? 0;
      return { channel, free: concurrency - used, freePerProvider: concurrencyPerProvider };
    }).filter(({ free }) => free > 0);
  }

  function listRestrictedProviders(): ProviderCapacity[] {
    const now = performance.now();
    return providers.listRestricted().map(({ channel, name, health, running }) => {
      const unused = (transports.get(channel)?.concurrencyPerProvider ?? 0) - running;
      return { channel, name, free: Math.max(0, Math.min(unused, health.admit(now, running))) };
    });
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
