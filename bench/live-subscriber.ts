import { type Agent, request } from 'node:http';
import { z } from 'zod';

const QUERY =
  'subscription { notificationEvents { type cursor counts { total } notification { ... on UserNotification { id kind title createdAt } } } }';

const Event = z.object({
  data: z.object({
    notificationEvents: z.object({ notification: z.object({ id: z.string(), createdAt: z.string() }) }),
  }),
});

/** What a subscriber tells of an event. */
export type Arrival = { id: string; createdAt: number };

/**
 * Subscribes to a user's events and resolves when the stream begins.
 * @throws {Error} where it is refused; afterwards whatever cuts it goes to `fail`
 */
export function subscribe(
  address: string,
  token: string,
  agent: Agent,
  arrive: (arrival: Arrival) => void,
  fail: (error: Error) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = request(`${address}/graphql`, {
      agent,
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: 'text/event-stream',
        'Content-Type': 'application/json',
      },
    });
    call.on('error', reject).on('response', (response) => {
      if (response.statusCode !== 200) reject(new Error(`Subscribing was answered ${response.statusCode}.`));
      const read = createReader(arrive);
      response.setEncoding('utf8').on('data', (text: string) => {
        resolve();
        read(text);
      });
      response.on('error', fail).on('end', () => fail(new Error('A stream ended.')));
    });
    call.end(JSON.stringify({ query: QUERY }));
  });
}

/** Reads server-sent events, in whatever pieces they come. */
function createReader(arrive: (arrival: Arrival) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, data] = /^event: next\ndata: (.*)$/.exec(block) ?? [];
      if (data === undefined) continue;
      const { id, createdAt } = Event.parse(JSON.parse(data)).data.notificationEvents.notification;
      arrive({ id, createdAt: Date.parse(createdAt) });
    }
  };
}
