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

const ENUMS = ['kind', 'status', 'taskStatus'];

function lower(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(record);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, ENUMS.includes(name) ? String(value).toLowerCase() : value]),
  );
}
