import { createAs } from '../support/as.ts';
import type { PlatformEventsQuery, PlatformEventsQueryVariables } from '../support/generated/types.ts';
import { openStream, type SseStream } from '../support/sse.ts';
import { platform } from '../support/tokens.ts';

type Gateway = { address: string };

type FeedPage = NonNullable<PlatformEventsQuery['platformEvents']>;
/** An event of the platform feed. */
export type FeedEvent = FeedPage['events'][number];

const FIELDS = 'type userId notificationId taskId credentialVersion channel at cursor';

/** The subscription to the feed. */
export const FEED_SUBSCRIPTION = `subscription ($after: String, $types: [PlatformEventType!]) {
  platformEvents(after: $after, types: $types) { ${FIELDS} }
}`;

type Selection = PlatformEventsQueryVariables;

/** Reads a page of the feed. */
export const readFeedPage = (gateway: Gateway, selection: Selection = {}): Promise<FeedPage> =>
  createAs(gateway)(platform).platformEvents(selection);

/** Reads pages of the feed until there are no more events. */
export async function readWholeFeed(gateway: Gateway, selection: Selection = {}): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  for (let { after } = selection; ; ) {
    const page = await readFeedPage(gateway, { ...selection, after });
    events.push(...page.events);
    after = page.cursor;
    if (!page.hasMore) return events;
  }
}

/** Returns the cursor of the last event. */
export const latestCursor = (gateway: Gateway): Promise<string> =>
  createAs(gateway)(platform).latestPlatformCursor();

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
