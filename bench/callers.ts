import type pg from 'pg';
import { listNames, type Population } from './data-set.ts';
import type { Issuer } from './issuer.ts';

/** A user with a token, and the notifications to dismiss if the user is a writer. */
export type Caller = { userId: string; token: string; notificationIds: readonly string[] };

/** Callers by their records in the data set. The platform calls on behalf of `recipients` and `owners`. */
export type Callers = Record<
  'readers' | 'writers' | 'collectors' | 'members' | 'recipients' | 'owners',
  readonly Caller[]
>;

/** 50 users with 400 notifications, 100 workspaces and a credential each. */
export const readers = { prefix: 'reader', users: 50, each: 400 } satisfies Population;
/** 32 users with 256 active notifications each. */
export const writers = { prefix: 'writer', users: 32, each: 256 } satisfies Population;
/**
 * 24 users with 10,000 workspaces each. Several, because the gateway makes each user wait after a list of that length.
 */
export const collectors = { prefix: 'collector', users: 24, each: 10_000 } satisfies Population;

/** 32 users who change their preferences and editor credentials. */
const members = { prefix: 'member', users: 32, each: 0 } satisfies Population;
/** 16 users who receive notifications from the platform. */
export const recipients = { prefix: 'recipient', users: 16, each: 0 } satisfies Population;
/** 4 users whose workspaces the platform stores. */
const owners = { prefix: 'owner', users: 4, each: 0 } satisfies Population;

/** Signs a token for each caller. */
export async function signCallers(client: pg.Client, issuer: Issuer): Promise<Callers> {
  const { rows } = await client.query<{ user_id: string; ids: string[] }>(
    'select user_id, array_agg(id order by revision) as ids from notification where user_id = any($1) group by 1',
    [listNames(writers)],
  );
  const ids = new Map(rows.map((row) => [row.user_id, row.ids]));
  const sign = (population: Population) =>
    Promise.all(
      listNames(population).map(async (sub) => ({
        userId: sub,
        token: await issuer.sign({ sub, org_id: 'acme' }),
        notificationIds: ids.get(sub) ?? [],
      })),
    );
  const token = await issuer.sign({
    sub: 'platform-service',
    scope: 'platform:notifications platform:workspaces',
  });
  const byPlatform = (population: Population) =>
    listNames(population).map((userId) => ({ userId, token, notificationIds: [] }));
  return {
    readers: await sign(readers),
    writers: await sign(writers),
    collectors: await sign(collectors),
    members: await sign(members),
    recipients: byPlatform(recipients),
    owners: byPlatform(owners),
  };
}
