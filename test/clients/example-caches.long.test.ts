import { OperationTypeNode } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Example } from '../../src/pages/graphiql-examples.ts';
import { type DevelopmentGateway, signTokenFor } from '../support/development.ts';
import {
  examples,
  resolveVariables,
  runExample,
  splitOperations,
  startExampleGateway,
} from '../support/examples.ts';
import { type CachingClient, describeCaches } from './caching-clients.ts';

/** The operations of each caller share a cache, as in an application. */
const callers = Map.groupBy(examples, ({ group }) => group);

/** Signs a token with which all of a caller's examples can be run. */
function signCallerToken(gateway: DevelopmentGateway, group: readonly Example[]): Promise<string> {
  const scopes = group.flatMap(({ query }) => /--scope (\S+)$/m.exec(query)?.[1] ?? []);
  const [, user = ''] = /--sub (\S+)/.exec(group[0]?.query ?? '') ?? [];
  return signTokenFor(gateway, `--sub ${user} --org acme`, [...new Set(scopes)].join(' '));
}

/** Returns the cursor after which a subscription delivers the next change; the platform feed begins with stored events. */
async function findCursor(client: CachingClient, subscription: string, values: Record<string, unknown>) {
  if (subscription.includes('platformEvents')) return null;
  if (!subscription.includes('accountEvents'))
    return (await client.fetch('{ notificationCounts { ref cursor } }')).notificationCounts.cursor;
  const [start] = await client.follow(subscription, values, 1);
  return start.accountEvents.cursor;
}

describeCaches('the cache', (create) => {
  let gateway: DevelopmentGateway;
  beforeAll(async () => {
    gateway = await startExampleGateway();
  });
  afterAll(() => gateway.close());

  describe.each([...callers])('with the examples of %s', (_group, group) => {
    let client: CachingClient;
    beforeAll(async () => {
      client = create(gateway.address, await signCallerToken(gateway, group));
    });

    test.each(group)('stores the result of $name', async ({ query, variables }) => {
      const values = await resolveVariables(gateway, variables);
      for (const { type, document } of splitOperations(query)) {
        if (type === OperationTypeNode.MUTATION) await client.mutate(document, values);
        if (type === OperationTypeNode.SUBSCRIPTION) {
          const after = await findCursor(client, document, values);
          await runExample(gateway, 'publish-notification');
          // A stream of the account begins with a start; the notification and the counts follow.
          const events = document.includes('accountEvents') ? 3 : 1;
          await client.follow(document, { ...values, after }, events);
        }
        if (type === OperationTypeNode.QUERY) {
          const data = await client.fetch(document, values);
          expect(await client.readCached(document, values)).toEqual(data);
        }
      }
    });
  });
});
