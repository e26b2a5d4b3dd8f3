import type pg from 'pg';
import { namesOf, type Population } from './data-set.ts';
import type { Issuer } from './issuer.ts';

/** A user with a token; of the writers, with the notifications to dismiss. */
export type Caller = { userId: string; token: string; notificationIds: readonly string[] };

/** Those who ask, by what the data set holds of them. Of `recipients` and `owners` it is the platform that asks. */
export type Callers = Record<
  'readers' | 'writers' | 'collectors' | 'members' | 'recipients' | 'owners',
  readonly Caller[]
>;

/** 50 users of 400 notifications, 100 workspaces and a credential each. */
export const readers = { prefix: 'reader', users: 50, each: 400 } satisfies Population;
/** 32 users of 256 active notifications each. */
export const writers = { prefix: 'writer', users: 32, each: 256 } satisfies Population;
/** One user of 10,000 workspaces. */
export const collectors = { prefix: 'collector', users: 1, each: 10_000 } satisfies Population;

/** 32 users who change what is theirs: preferences, and the editor's credential. */
const members = { prefix: 'member', users: 32, each: 0 } satisfies Population;
/** 16 users whom the platform publishes to. */
const recipients = { prefix: 'recipient', users: 16, each: 0 } satisfies Population;
/** 4 users whose workspaces the platform puts. */
const owners = { prefix: 'owner', users: 4, each: 0 } satisfies Population;

/** Signs a token for everybody. */
export async function signCallers(client: pg.Client, issuer: Issuer): Promise<Callers> {
  const { rows } = await client.query<{ user_id: string; ids: string[] }>(
    'select user_id, array_agg(id order by revision) as ids from notification where user_id = any($1) group by 1',
    [namesOf(writers)],
  );
  const ids = new Map(rows.map((row) => [row.user_id, row.ids]));
  const sign = (population: Population) =>
    Promise.all(
      namesOf(population).map(async (sub) => ({
        userId: sub,
        token: await issuer.sign({ sub, org_id: 'acme' }),
        notificationIds: ids.get(sub) ?? [],
      })),
    );
  const token = await issuer.sign({ sub: 'platform-service', scope: 'platform:write' });
  const byPlatform = (population: Population) =>
    namesOf(population).map((userId) => ({ userId, token, notificationIds: [] }));
  return {
    readers: await sign(readers),
    writers: await sign(writers),
    collectors: await sign(collectors),
    members: await sign(members),
    recipients: byPlatform(recipients),
    owners: byPlatform(owners),
  };
}
