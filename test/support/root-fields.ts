import { randomUUID } from 'node:crypto';
import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
} from 'graphql';
import { formatEventCursor } from '../../src/revisions/event-cursor.ts';
import { schema } from '../../src/schema.ts';
import { notification, workspaceInput } from './records.ts';

type Arguments = Record<string, unknown>;

const queries = schema.getQueryType()?.getFields() ?? {};
const mutations = schema.getMutationType()?.getFields() ?? {};
/** A subscription that has the name of a query is listed with the keyword. */
const subscriptions = Object.fromEntries(
  Object.entries(schema.getSubscriptionType()?.getFields() ?? {}).map(([name, field]) => [
    name in queries ? `subscription ${name}` : name,
    field,
  ]),
);

/** Every root field of the schema by name. */
export const rootFields: Readonly<Record<string, GraphQLField<unknown, unknown>>> = {
  ...queries,
  ...mutations,
  ...subscriptions,
};

/** Whether a root field is a subscription. */
export const isSubscription = (name: string) => name in subscriptions;

/** The keys of the example of RFC 8291. */
const browserKeys = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};

/**
 * Valid arguments of every root field, none by default. `userId` is used where an argument names a user, except by
 * `deleteUser`, so that nothing is deleted.
 */
export const goodArguments: Readonly<Record<string, (userId: string) => Arguments>> = {
  ...Object.fromEntries(Object.keys(rootFields).map((name) => [name, () => ({})])),
  acknowledgeAnswer: (userId) => ({
    input: { userId, notificationId: 'unknown', outcome: 'ACCEPTED' },
  }),
  answerNotification: () => ({
    input: { id: 'unknown', answerId: randomUUID(), plan: { decision: 'APPROVE' } },
  }),
  claimEditorCredentialRefresh: (userId) => ({ input: { userId, version: '1', claimId: randomUUID() } }),
  deleteUser: () => ({ input: { userId: 'nobody' } }),
  deleteWorkspace: (userId) => ({ input: { userId, id: randomUUID(), deletedAt: new Date().toISOString() } }),
  deliveries: () => ({ notificationId: 'unknown' }),
  dismissNotification: () => ({ input: { id: 'unknown' } }),
  dismissNotifications: () => ({ input: { ids: ['unknown'] } }),
  editorCredential: (userId) => ({ userId }),
  user: (id) => ({ id }),
  notification: () => ({ id: 'unknown' }),
  notificationEvents: () => ({ after: formatEventCursor({ epoch: '', revision: 0 }) }),
  publishNotification: (userId) => ({ input: notification(userId) }),
  publishNotifications: (userId) => ({ input: { notifications: [notification(userId)] } }),
  putContact: (userId) => ({ input: { userId, email: 'a@example.com', chatMemberId: 'U012AB3CD' } }),
  putWorkspaces: (userId) => ({ input: { userId, workspaces: [workspaceInput()] } }),
  refreshEditorCredential: (userId) => ({
    input: { userId, version: '1', accessToken: 'access', refreshToken: 'refresh' },
  }),
  registerPushSubscription: () => ({
    input: { endpoint: 'https://push.example.com/1', keys: browserKeys },
  }),
  removePushSubscription: () => ({ input: { id: 'unknown' } }),
  reportEditorAuthFailure: (userId) => ({ input: { userId, version: '1', reason: 'TOKEN_REVOKED' } }),
  request: (userId) => ({ userId, notificationId: 'unknown' }),
  resolveNotifications: (userId) => ({ input: { userId, taskId: 'task-1', reason: 'ANSWERED_ELSEWHERE' } }),
  restoreNotification: () => ({ input: { id: 'unknown' } }),
  restoreNotifications: () => ({ input: { ids: ['unknown'] } }),
  retryDeliveries: () => ({ input: {} }),
  storeEditorSubscription: () => ({ input: { accessToken: 'access', refreshToken: 'refresh' } }),
  updateNotificationPreferences: () => ({ input: { preferences: [] } }),
};

/** Builds the document that calls a root field and passes all given arguments as variables. */
export function buildDocument(name: string, given: Arguments): string {
  const field = rootFields[name];
  if (field === undefined) throw new Error(`The schema has no root field "${name}".`);
  const used = field.args.filter((argument) => argument.name in given);
  const variables = used.map((argument) => `$${argument.name}: ${argument.type}`).join(', ');
  const bound = used.map((argument) => `${argument.name}: $${argument.name}`).join(', ');
  const selection = isCompositeType(getNamedType(field.type)) ? '{ __typename }' : '';
  const keyword = name in mutations ? 'mutation' : isSubscription(name) ? 'subscription' : 'query';
  return `${keyword} ${variables && `(${variables})`} { ${field.name} ${bound && `(${bound})`} ${selection} }`;
}

/** Prints a JSON value as a literal of an input type. */
export function printLiteral(type: GraphQLInputType | undefined, value: unknown): string {
  const named = type && getNamedType(type);
  if (Array.isArray(value)) return `[${value.map((item) => printLiteral(type, item)).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = isInputObjectType(named) ? named.getFields() : {};
    const members = Object.entries(value).map(
      ([name, item]) => `${name}: ${printLiteral(fields[name]?.type, item)}`,
    );
    return `{ ${members.join(', ')} }`;
  }
  return typeof value === 'string' && isEnumType(named) ? value : JSON.stringify(value);
}
