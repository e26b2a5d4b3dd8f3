import { readFileSync } from 'node:fs';
import type { Issuer } from './gateway.ts';
import type { LoadRequest } from './load.ts';
import records from './records.json' with { type: 'json' };

/* The records of the bench, which are created over the API, so that any version of the gateway can have them. */

/** A user with a token, and the notifications to dismiss. */
export type User = { userId: string; token: string; ids: readonly string[] };

/** Users by what is done with them, and the platform's token. */
export type Users = Record<'readers' | 'writers' | 'members', readonly User[]> & { platform: string };

/** Users of each sort, who send requests at once. */
export const CONNECTIONS = 30;

export const range = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Creates a request of the REST API, which is a `GET` without a method. */
export function rest(token: string, path: string, method?: 'POST' | 'PUT', body?: object): LoadRequest {
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json' };
  if (body === undefined) return { method: method ?? 'GET', path, headers };
  const type = { 'Content-Type': 'application/json' };
  return { method: method ?? 'GET', path, headers: { ...headers, ...type }, body: JSON.stringify(body) };
}

const text = readFileSync(new URL('./operations.graphql', import.meta.url), 'utf8');
const operations = new Map(text.split(/\n\n/).map((query) => [query.split(/\W/, 2)[1], query]));

/** Creates a request of the GraphQL API: an operation of operations.graphql. */
export function graphql(token: string, operationName: string, variables: object): LoadRequest {
  const query = operations.get(operationName);
  if (query === undefined) throw new Error(`There is no operation ${operationName}.`);
  return rest(token, '/graphql', 'POST', { query, operationName, variables });
}

/** Sends a request and returns the text of its reply. @throws {Error} if it is unsuccessful */
export async function send(address: string, { path, ...request }: LoadRequest): Promise<string> {
  const reply = await fetch(`${address}${path}`, request);
  const text = await reply.text();
  if (!reply.ok || text.includes('"errors":[')) throw new Error(`${path} returned ${reply.status}: ${text}`);
  return text;
}

/** Creates the input of a notification, by default a plan. Each has its own task, so that none supersedes another. */
export const createNotification = (userId: string, id: string, kind = 0) => ({
  ...records.notification,
  userId,
  id,
  task: { id: `task-${id}`, projectId: 'web-shop', name: 'Move the cart to the database' },
  payload: records.payloads[kind % records.payloads.length],
});

/** Creates a request that publishes at most 100 notifications. */
export const publishMany = (token: string, notifications: readonly object[]) =>
  graphql(token, 'PublishMany', { input: { notifications } });

/** A request that stores tokens of realistic length. */
export const storeSubscription = (token: string) =>
  rest(token, '/editor/auth/subscription', 'PUT', {
    accessToken: `access-${'a'.repeat(800)}`,
    refreshToken: `refresh-${'r'.repeat(100)}`,
  });

/** Signs the tokens of all users. The writers' notifications to dismiss are plans. */
export async function signUsers(issuer: Issuer): Promise<Users> {
  const sign = (name: string, count: number) =>
    Promise.all(
      range(CONNECTIONS).map(async (index) => {
        const userId = `${name}-${index}`;
        const ids = range(count).map((number) => `${userId}-${number}`);
        return { userId, token: await issuer.sign({ sub: userId, org_id: 'acme' }), ids };
      }),
    );
  const scope = 'platform:notifications platform:workspaces platform:contacts platform:read';
  return {
    readers: await sign('reader', 400),
    writers: await sign('writer', 40),
    members: await sign('member', 0),
    platform: await issuer.sign({ sub: 'platform-service', scope }),
  };
}

/** Creates the records of all users. A fifth of the readers' notifications are dismissed. */
export async function createRecords(address: string, { readers, writers, platform }: Users): Promise<void> {
  const publish = async ({ ids }: User, create: (id: string, index: number) => object) => {
    for (const batch of range(Math.ceil(ids.length / 100)))
      await send(address, publishMany(platform, ids.slice(batch * 100, batch * 100 + 100).map(create)));
  };
  for (const [number, reader] of readers.entries()) {
    const { userId } = reader;
    await publish(reader, (id, index) => createNotification(userId, id, index));
    const ids = reader.ids.filter((_id, index) => index % 5 === 0);
    await send(address, graphql(reader.token, 'Dismiss', { ids }));
    const workspaces = range(100).map((index) => {
      const digits = String(number * 100 + index).padStart(12, '0');
      return { id: `00000000-0000-4000-8000-${digits}`, ...records.workspace };
    });
    await send(address, graphql(platform, 'PutWorkspaces', { input: { userId, workspaces } }));
    await send(address, storeSubscription(reader.token));
  }
  for (const writer of writers) await publish(writer, (id) => createNotification(writer.userId, id));
}
