import { z } from 'zod';

/*
 * What of the replies has to be equal before anything is timed. Everything, but for what cannot be: a cursor is opaque
 * and each server's own, so only whether there is one counts; words of enums are in upper case in GraphQL alone.
 */

/** Takes from a reply what has to be equal. */
export type Content = (reply: unknown) => unknown;

const Inbox = z.object({
  nodes: z.array(z.looseObject({ payload: z.looseObject({}) })),
  pageInfo: z.strictObject({ hasNextPage: z.boolean(), endCursor: z.string().nullable() }),
});
const GraphqlInbox = z.strictObject({ data: z.strictObject({ notifications: Inbox }) });
const Dismissed = z.strictObject({
  notification: z.looseObject({ updated_at: z.string(), dismissed_at: z.string() }),
});

/** The reply as it is. */
export const whole: Content = (reply) => reply;

/** The page of an inbox. */
export const plainInbox: Content = (reply) => {
  const { nodes, pageInfo } = Inbox.parse(reply);
  return { nodes, pageInfo: { ...pageInfo, endCursor: pageInfo.endCursor !== null } };
};

/** The page of an inbox in a GraphQL reply, its words of enums in lower case. */
export const graphqlInbox: Content = (reply) => {
  const { nodes, pageInfo } = GraphqlInbox.parse(reply).data.notifications;
  const lowered = nodes.map(({ payload, ...node }) => ({ ...lower(node), payload: lower(payload) }));
  return plainInbox({ nodes: lowered, pageInfo });
};

/** A dismissed notification without the two times of now. */
export const dismissedNow: Content = (reply) => {
  const { updated_at, dismissed_at, ...notification } = Dismissed.parse(reply).notification;
  return { ...notification, areEqual: updated_at === dismissed_at };
};

/** What publishing answers, without the time of now; in GraphQL it is a root field's. */
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

/** A publication in a plain reply. */
export const publication: Content = (reply) => withoutTime(Publication.parse(reply));

/** Publications in a plain reply. */
export const publications: Content = (reply) =>
  z
    .strictObject({ results: z.array(Publication) })
    .parse(reply)
    .results.map(withoutTime);

/** What a root field answered, as another content takes it from a plain reply. */
export const ofRootField =
  (name: string, content: Content): Content =>
  (reply) =>
    content(z.strictObject({ data: z.record(z.literal(name), z.unknown()) }).parse(reply).data[name]);

const Preferences = z.strictObject({
  preferences: z.array(z.looseObject({ created_at: z.string(), updated_at: z.string() })),
});

/** Preferences without their times. */
export const preferences: Content = (reply) =>
  Preferences.parse(reply).preferences.map(({ created_at, updated_at, ...preference }) => preference);

const ENUMS = ['kind', 'status', 'taskStatus'];

function lower(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(record);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, ENUMS.includes(name) ? String(value).toLowerCase() : value]),
  );
}
