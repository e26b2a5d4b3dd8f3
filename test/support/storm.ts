import fc from 'fast-check';
import { expect } from 'vitest';
import { graphql, rest } from './client.ts';
import type { TestGateway } from './gateway.ts';
import { deleteUser, payloads, workspaceInput } from './records.ts';
import { member, platform } from './tokens.ts';

const tasks = ['task-1', 'task-2'] as const;
const kinds = ['plan_requested', 'task_failed'] as const;
const workspaceIds = [1, 2].map((number) => `5f0c2f0e-0000-4000-8000-00000000000${number}`);

const user = fc.nat(2);
/** Hours after the beginning of a year; a step's own number makes every time another one. */
const hour = fc.nat(20);
const what = <Name extends string>(name: Name) => fc.constant(name);
const flags = fc.record({ email: fc.boolean(), push: fc.boolean(), chat: fc.boolean() });

/** A change of something of one of three users. */
export const steps = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: what('publish'),
      user,
      task: fc.constantFrom(...tasks),
      kind: fc.constantFrom(...kinds),
      hour,
      isBatch: fc.boolean(),
    }),
  },
  fc.record({ what: what('publishAgain'), user, which: fc.nat(20) }),
  fc.record({
    what: what('resolve'),
    user,
    task: fc.constantFrom(...tasks),
    before: fc.option(hour, { nil: undefined }),
  }),
  fc.record({ what: what('dismiss'), user, which: fc.array(fc.nat(20), { maxLength: 3 }) }),
  fc.record({ what: what('preferences'), user, kind: fc.option(fc.constantFrom(...kinds)), flags }),
  fc.record({ what: what('store'), user }),
  fc.record({ what: what('refresh'), user }),
  fc.record({ what: what('report'), user }),
  fc.record({ what: what('wipe'), user }),
  fc.record({ what: what('putWorkspaces'), user, hours: fc.tuple(hour, hour) }),
  fc.record({ what: what('deleteWorkspace'), user, which: fc.nat(1), hour }),
);
export type Step =
  | (typeof steps extends fc.Arbitrary<infer Value> ? Value : never)
  | { what: 'deleteUser'; user: number };

type Published = { id: string; task: string; kind: string; time: string };
/** What the gateways said happened to a user. */
type Account = {
  published: Published[];
  created: string[];
  resolutions: { task: string; before: string | undefined }[];
  resolved: string[];
  dismissed: string[];
  preferences: unknown[];
  versions: string[];
  refreshedFrom: string[];
  puts: { id: string; time: string }[];
  deletions: { id: string; time: string }[];
};

const PUBLISH = `mutation ($input: PublishNotificationsInput!) {
  publishNotifications(input: $input) { results { created notification { ... on UserNotification { id } } } }
}`;
const PUBLISH_ONE = `mutation ($input: PublishNotificationInput!) {
  publishNotification(input: $input) { created notification { ... on UserNotification { id } } }
}`;
const VERSION = 'query ($userId: ID!) { editorCredential(userId: $userId) { version } }';

/** The time of a step: no two steps have the same. */
const timeAt = (hours: number, index: number) =>
  new Date(Date.UTC(2026, 0, 1, hours, 0, 0, index)).toISOString();

/** Takes steps over several gateways, and notes what came of them. */
export class Storm {
  readonly users: readonly string[];
  readonly #gateways: readonly TestGateway[];
  readonly #accounts = new Map<string, Account>();

  constructor(gateways: readonly TestGateway[], users: readonly string[]) {
    this.#gateways = gateways;
    this.users = users;
  }

  get database() {
    return this.#at(0).database;
  }

  /** What came of the steps of a user so far. */
  readonly account = (user: string): Account => {
    const account = this.#accounts.get(user) ?? {
      published: [],
      created: [],
      resolutions: [],
      resolved: [],
      dismissed: [],
      preferences: [],
      versions: [],
      refreshedFrom: [],
      puts: [],
      deletions: [],
    };
    this.#accounts.set(user, account);
    return account;
  };

  #at(index: number): TestGateway {
    const gateway = this.#gateways[index % this.#gateways.length];
    if (gateway === undefined) throw new Error('A storm needs a gateway.');
    return gateway;
  }

  async #asPlatform(index: number, query: string, variables: Record<string, unknown>) {
    const { data, errors } = await graphql(this.#at(index), query, variables, { token: await platform() });
    return { data, codes: errors.map(({ extensions }) => extensions.code) };
  }

  async #send(index: number, query: string, variables: Record<string, unknown>) {
    const { data, codes } = await this.#asPlatform(index, query, variables);
    expect(codes).toEqual([]);
    return data;
  }

  async #rest(index: number, method: string, path: string, user: string, body?: object) {
    const token = await member(user);
    const reply = await rest(this.#at(index), method, path, { token, ...(body && { body }) });
    expect(reply.status).toBeLessThan(300);
    return reply.body;
  }

  async take(step: Step, index: number): Promise<void> {
    const userId = this.users[step.user] ?? '';
    const account = this.account(userId);
    switch (step.what) {
      case 'publish': {
        const made = { id: `n-${index}`, task: step.task, kind: step.kind, time: timeAt(step.hour, index) };
        account.published.push(made);
        const input = draftOf(userId, made);
        // A batch brings something for another user too, in any order.
        const otherId = this.users[(step.user + 1 + (index % 2)) % 3] ?? '';
        const other = { ...made, id: `o-${index}` };
        if (step.isBatch) this.account(otherId).published.push(other);
        const results = step.isBatch
          ? (
              await this.#send(index, PUBLISH, {
                input: { notifications: [input, draftOf(otherId, other)] },
              })
            ).publishNotifications.results
          : [(await this.#send(index, PUBLISH_ONE, { input })).publishNotification];
        for (const [position, { created, notification }] of results.entries()) {
          if (created) this.account(position === 0 ? userId : otherId).created.push(notification.id);
        }
        break;
      }
      case 'publishAgain': {
        const known = account.published[step.which];
        if (known === undefined) break;
        const { publishNotification } = await this.#send(index, PUBLISH_ONE, {
          input: draftOf(userId, known),
        });
        if (publishNotification.created) account.created.push(known.id);
        break;
      }
      case 'resolve': {
        const before = step.before === undefined ? undefined : timeAt(step.before, index);
        account.resolutions.push({ task: step.task, before });
        const { resolveNotifications } = await this.#send(
          index,
          `mutation ($input: ResolveNotificationsInput!) {
            resolveNotifications(input: $input) { notifications { ... on UserNotification { id } } }
          }`,
          { input: { userId, taskId: step.task, reason: 'ANSWERED', before } },
        );
        account.resolved.push(...idsOf(resolveNotifications));
        break;
      }
      case 'dismiss': {
        const ids = step.which.map((number) => account.published[number]?.id ?? 'unknown');
        const query = `mutation ($ids: [ID!]!) {
          dismissNotifications(input: { ids: $ids }) { notifications { ... on UserNotification { id } } }
        }`;
        const { data } = await graphql(this.#at(index), query, { ids }, { token: await member(userId) });
        account.dismissed.push(...idsOf(data.dismissNotifications));
        break;
      }
      case 'preferences': {
        const { email, push, chat } = step.flags;
        const item = { email_enabled: email, push_enabled: push, chat_dm_enabled: chat };
        const preferences = [{ ...item, ...(step.kind && { notification_kind: step.kind }) }];
        const body = await this.#rest(index, 'PUT', '/user/notification-preferences', userId, {
          preferences,
        });
        account.preferences.push(body.preferences);
        break;
      }
      case 'store':
        await this.#rest(index, 'PUT', '/editor/auth/subscription', userId, pairOf(index));
        break;
      case 'refresh': {
        const version = (await this.#send(index, VERSION, { userId })).editorCredential?.version;
        if (version === undefined) break;
        const { data, codes } = await this.#asPlatform(
          index,
          'mutation ($input: RefreshEditorCredentialInput!) { refreshEditorCredential(input: $input) { version } }',
          { input: { userId, version, ...pairOf(index) } },
        );
        if (codes.length > 0) expect(codes).toEqual(['CONFLICT']);
        else {
          account.refreshedFrom.push(version);
          account.versions.push(data.refreshEditorCredential.version);
        }
        break;
      }
      case 'report': {
        const version = (await this.#send(index, VERSION, { userId })).editorCredential?.version;
        if (version === undefined) break;
        await this.#send(
          index,
          'mutation ($input: ReportEditorAuthFailureInput!) { reportEditorAuthFailure(input: $input) { applied } }',
          { input: { userId, version, reason: 'TOKEN_REVOKED' } },
        );
        break;
      }
      case 'wipe':
        await this.#rest(index, 'DELETE', '/editor/auth', userId);
        break;
      case 'putWorkspaces': {
        const puts = workspaceIds.map((id, at) => ({ id, time: timeAt(step.hours[at] ?? 0, index) }));
        account.puts.push(...puts);
        const workspaces = puts.map(({ id, time }) => workspaceInput({ id, updatedAt: time, gitRef: time }));
        await this.#send(
          index,
          'mutation ($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id } } }',
          { input: { userId, workspaces: index % 2 === 0 ? workspaces : workspaces.toReversed() } },
        );
        break;
      }
      case 'deleteWorkspace': {
        const deletion = { id: workspaceIds[step.which] ?? '', time: timeAt(step.hour, index) };
        account.deletions.push(deletion);
        await this.#send(
          index,
          'mutation ($input: DeleteWorkspaceInput!) { deleteWorkspace(input: $input) { deleted } }',
          { input: { userId, id: deletion.id, deletedAt: deletion.time } },
        );
        break;
      }
      case 'deleteUser':
        await deleteUser(this.#at(index), userId);
    }
  }
}

const idsOf = ({ notifications }: { notifications: { id: string }[] }) => notifications.map(({ id }) => id);

const pairOf = (index: number) => ({ accessToken: `access-${index}`, refreshToken: `refresh-${index}` });

function draftOf(userId: string, { id, task, kind, time }: Published) {
  const payload = kind === 'task_failed' ? payloads.task_failed : payloads.plan_requested;
  return { userId, id, task: { id: task, projectId: 'p' }, title: id, payload, occurredAt: time };
}
