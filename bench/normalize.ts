import { z } from 'zod';

/*
 * Normalizes replies, which must be equal before anything is measured. Cursors are reduced to whether there is one,
 * enum values to lower case, and current times are removed.
 */

/** Normalizes a reply. */
export type Normalize = (reply: unknown) => unknown;

const Inbox = z.object({
  nodes: z.array(z.looseObject({ payload: z.looseObject({}) })),
  pageInfo: z.strictObject({ hasNextPage: z.boolean(), endCursor: z.string().nullable() }),
});
const GraphqlInbox = z.strictObject({ data: z.strictObject({ notifications: Inbox }) });
const Dismissed = z.strictObject({
  notification: z.looseObject({ updated_at: z.string(), dismissed_at: z.string() }),
});

/** Compares the whole reply. */
export const keepAll: Normalize = (reply) => reply;

/** Normalizes a page of notifications. */
export const normalizeInbox: Normalize = (reply) => {
  const { nodes, pageInfo } = Inbox.parse(reply);
  return { nodes, pageInfo: { ...pageInfo, endCursor: pageInfo.endCursor !== null } };
};

/** Normalizes a page of notifications in a GraphQL reply. */
export const normalizeGraphqlInbox: Normalize = (reply) => {
  const { nodes, pageInfo } = GraphqlInbox.parse(reply).data.notifications;
  const lowered = nodes.map(({ payload, ...node }) => ({ ...lower(node), payload: lower(payload) }));
  return normalizeInbox({ nodes: lowered, pageInfo });
};

/** Normalizes a dismissed notification. */
export const normalizeDismissal: Normalize = (reply) => {
  const { updated_at, dismissed_at, ...notification } = Dismissed.parse(reply).notification;
  return { ...notification, areEqual: updated_at === dismissed_at };
};

const Publication = z.strictObject({
  created: z.boolean(),
  channels: z.array(z.string()),
  notification: z.strictObject({ id: z.string(), status: z.string(), createdAt: z.string() }),
});
type Publication = z.output<typeof Publication>;

const withoutTime = ({ notification: { id, status }, ...rest }: Publication) => ({
  ...rest,
  notification: { id, status },
});

/** Normalizes the reply to publishing one notification. */
export const normalizePublication: Normalize = (reply) => withoutTime(Publication.parse(reply));

/** Normalizes the reply to publishing several notifications. */
export const normalizePublications: Normalize = (reply) =>
  z
    .strictObject({ results: z.array(Publication) })
    .parse(reply)
    .results.map(withoutTime);

/** Normalizes the result of a root field in a GraphQL reply. */
export const unwrapRootField =
  (name: string, normalize: Normalize): Normalize =>
  (reply) =>
    normalize(z.strictObject({ data: z.record(z.literal(name), z.unknown()) }).parse(reply).data[name]);

const Preferences = z.strictObject({
  preferences: z.array(z.looseObject({ created_at: z.string(), updated_at: z.string() })),
});

/** Normalizes preferences. */
export const normalizePreferences: Normalize = (reply) =>
  Preferences.parse(reply).preferences.map(({ created_at, updated_at, ...preference }) => preference);

const ENUM_FIELDS = ['kind', 'status', 'taskStatus'];

function lower(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(record);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, ENUM_FIELDS.includes(name) ? String(value).toLowerCase() : value]),
  );
}
