import { OperationTypeNode } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Example } from '../src/pages/graphiql-examples.ts';
import { type CachingClient, cachingClients } from './clients/caching-clients.ts';
import { expectNoWarnings } from './support/console.ts';
import { type DevelopmentGateway, signTokenFor } from './support/development.ts';
import {
  examples,
  resolveVariables,
  runExample,
  splitOperations,
  startExampleGateway,
} from './support/examples.ts';

/** The operations of each caller share a cache, as in an application. */
const callers = Map.groupBy(examples, ({ group }) => group);

/** Signs a token with which all of a caller's examples can be run. */
function signCallerToken(gateway: DevelopmentGateway, group: readonly Example[]): Promise<string> {
  const scopes = group.flatMap(({ query }) => /--scope (\S+)$/m.exec(query)?.[1] ?? []);
  const [, user = ''] = /--sub (\S+)/.exec(group[0]?.query ?? '') ?? [];
  return signTokenFor(gateway, `--sub ${user} --org acme`, [...new Set(scopes)].join(' '));
}

describe.each(cachingClients)('the documented cache of %s', (_name, create) => {
  let gateway: DevelopmentGateway;
  beforeAll(async () => {
    gateway = await startExampleGateway();
  });
  afterAll(() => gateway.close());
  expectNoWarnings();

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
          // The platform feed begins with the events of the seeded records.
          const isFeed = document.includes('platformEvents');
          const { notificationCounts } = isFeed
            ? { notificationCounts: { cursor: null } }
            : await client.fetch('{ notificationCounts { ref cursor } }');
          await runExample(gateway, 'publish-notification');
          await client.follow(document, { ...values, after: notificationCounts.cursor }, 1);
        }
        if (type === OperationTypeNode.QUERY) {
          const data = await client.fetch(document, values);
          expect(await client.readCached(document, values)).toEqual(data);
        }
      }
    });
  });
});
