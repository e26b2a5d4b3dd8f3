import { asPlatform } from './records.ts';
import { openStream, type SseStream } from './sse.ts';
import { platform } from './tokens.ts';

type Gateway = { address: string };

/** An event of the platform feed. */
export type FeedEvent = {
  type: string;
  userId: string;
  notificationId: string | null;
  taskId: string | null;
  credentialVersion: string | null;
  channel: string | null;
  at: string;
  cursor: string;
};

/** A page of the platform feed. */
export type FeedPage = { events: FeedEvent[]; cursor: string; hasMore: boolean };

const FIELDS = 'type userId notificationId taskId credentialVersion channel at cursor';

/** The query of the feed. */
export const FEED_QUERY = `query ($after: String, $types: [PlatformEventType!], $first: Int) {
  platformEvents(after: $after, types: $types, first: $first) { events { ${FIELDS} } cursor hasMore }
}`;

/** The subscription to the feed. */
export const FEED_SUBSCRIPTION = `subscription ($after: String, $types: [PlatformEventType!]) {
  platformEvents(after: $after, types: $types) { ${FIELDS} }
}`;

type Selection = { after?: string | undefined; types?: readonly string[] };

/** Reads a page of the feed. */
export async function readFeedPage(
  gateway: Gateway,
  selection: Selection & { first?: number } = {},
): Promise<FeedPage> {
  return (await asPlatform(gateway, FEED_QUERY, selection)).platformEvents;
}

/** Reads pages of the feed until there are no more events. */
export async function readWholeFeed(
  gateway: Gateway,
  selection: Selection & { first?: number } = {},
): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  for (let { after } = selection; ; ) {
    const page = await readFeedPage(gateway, { ...selection, after });
    events.push(...page.events);
    after = page.cursor;
    if (!page.hasMore) return events;
  }
}

/** Returns the cursor of the last event. */
export async function latestCursor(gateway: Gateway): Promise<string> {
  return (await asPlatform(gateway, '{ latestPlatformCursor }')).latestPlatformCursor;
}

/** Subscribes to the feed. */
export async function followFeed(gateway: Gateway, selection: Selection = {}): Promise<SseStream> {
  return openStream(gateway, FEED_SUBSCRIPTION, selection, { token: await platform() });
}

/** Returns the next event of a stream that {@link followFeed} opened. */
export async function takeEvent(stream: SseStream): Promise<FeedEvent> {
  const { data, errors } = await stream.take();
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  return data.platformEvents;
}
