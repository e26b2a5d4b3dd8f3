import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { type ChannelCapacity, type Claim, claimDue, type ProviderCapacity } from './claim-due.ts';
import type { DeliveryJob, DeliveryOptions } from './deliver.ts';
import { loadDeliveryData } from './load-delivery-data.ts';

/** Returns the number of deliveries of a channel that are running. */
export type CountRunning = (channel: DeliveryChannel) => number;

/**
 * Claims due deliveries and loads their data. Claims only as many as can be sent at once, so that none waits while its
 * lease runs.
 */
export async function claimJobs(
  options: DeliveryOptions,
  countRunning: CountRunning,
): Promise<DeliveryJob[]> {
  const { database } = options;
  const free = listFreeChannels(options, countRunning);
  if (free.length === 0) return [];
  const claimedAt = performance.now();
  const claims = await claimDue(database, free, listReducedCapacities(options));
  if (claims.length === 0) return [];
  const loaded = await loadDeliveryData(database, claims);
  return claims.flatMap((claim) => {
    const data = loaded.find((row) => isSame(row, claim));
    // Without a row, the delivery was deleted, with its user or by retention.
    return data === undefined ? [] : [{ claim, data, claimedAt }];
  });
}

function listFreeChannels({ channels }: DeliveryOptions, countRunning: CountRunning): ChannelCapacity[] {
  return Array.from(channels, ([channel, { concurrency, concurrencyPerProvider }]) => ({
    channel,
    free: concurrency - countRunning(channel),
    freePerProvider: concurrencyPerProvider,
  })).filter(({ free }) => free > 0);
}

function listReducedCapacities({ channels, providers }: DeliveryOptions): ProviderCapacity[] {
  const now = performance.now();
  return providers.listWithReducedCapacity().map(({ channel, name, health, running }) => {
    const unused = (channels.get(channel)?.concurrencyPerProvider ?? 0) - running;
    return { channel, name, free: Math.max(0, Math.min(unused, health.countAllowed(now, running))) };
  });
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
