import { type Access, accountRead, checkAccess, memberRead } from '../auth/access.ts';
import type { Viewer } from '../auth/viewer.ts';
import { EditorAuthEventType } from '../editor-auth/editor-auth.graphql.ts';
import { builder } from '../graphql/builder.ts';
import { maxItems } from '../graphql/rules.ts';
import { findSelectedProperties, readBySubfields } from '../graphql/selected-fields.ts';
import { SourceReader } from '../live/source.ts';
import { openStream } from '../live/stream.ts';
import { Counts } from '../notifications/notification-counts.graphql.ts';
import { NotificationEventType } from '../notifications/notification-events.graphql.ts';
import { WorkspaceEventType } from '../workspaces/workspaces.graphql.ts';
import {
  type AccountEvent,
  type AccountEventContent,
  type AccountEventType,
  accountEventTypes,
  parseAccountCursor,
  planAccountEvents,
  type StreamStart,
} from './account-events.ts';

const TypeEnum = builder.enumType('AccountEventType', {
  description: 'A type of events that `accountEvents` delivers.',
  values: {
    NOTIFICATIONS: { value: 'notifications', description: 'Changes of notifications: `NotificationEvent`.' },
    COUNTS: {
      value: 'counts',
      description: 'The counts of active notifications after a change: `NotificationCounts`.',
    },
    WORKSPACES: { value: 'workspaces', description: 'Changes of workspaces: `WorkspaceEvent`.' },
    EDITOR_AUTH: {
      value: 'editorAuth',
      description:
        'Changes of the editor connection: `EditorAuthEvent`. Requires membership in an organization.',
    },
  } as const satisfies Record<string, { value: AccountEventType; description: string }>,
});

/** The access that events of each type require. */
const access: Record<AccountEventType, Access> = {
  notifications: accountRead,
  counts: accountRead,
  workspaces: accountRead,
  editorAuth: memberRead,
};

const StreamStartType = builder.objectRef<StreamStart>('StreamStart').implement({
  description: 'The first event of a stream.',
  fields: (t) => ({
    resumed: t.exposeBoolean('resumed', {
      description:
        'Whether the stream continues after the cursor `after`. If not, no cursor was given, or the user was deleted or the epoch of the database renewed since: the stream begins now, and what was read before must be read again.',
    }),
  }),
});

const ContentUnion = builder.unionType('AccountEventContent', {
  description: 'What an event of an account contains. Later versions may add types.',
  types: [StreamStartType, NotificationEventType, Counts, WorkspaceEventType, EditorAuthEventType],
  resolveType: (content: AccountEventContent) => {
    if ('resumed' in content) return StreamStartType.name;
    if ('notification' in content) return NotificationEventType.name;
    if ('total' in content) return Counts.name;
    return 'workspace' in content ? WorkspaceEventType.name : EditorAuthEventType.name;
  },
});

const Event = builder.objectRef<AccountEvent>('AccountEvent').implement({
  description: "An event of the caller's account.",
  fields: (t) => ({
    cursor: t.exposeString('cursor', {
      description: 'Cursor of all types of events. Pass it in `after` to resume after this event.',
    }),
    content: t.expose('content', {
      type: ContentUnion,
      description: 'What happened.',
      extensions: readBySubfields,
    }),
  }),
});

builder.subscriptionField('accountEvents', (t) =>
  t.field({
    access: accountRead,
    type: Event,
    description:
      "Delivers the changes of the caller's account in one stream: the latest state of every notification and workspace that changes, counts, and the status of the editor connection. Begins with a `StreamStart`. Intermediate states may be skipped. The stream ends when the token expires.",
    args: {
      after: t.arg.string({
        description:
          'Cursor of the last event received. Changes since then are delivered first. If omitted, only new changes are delivered.',
      }),
      types: t.arg({
        type: [TypeEnum],
        validate: maxItems(accountEventTypes.length),
        description:
          'The types of events to deliver. Defaults to all that the token permits: `EDITOR_AUTH` only with membership in an organization.',
      }),
    },
    subscribe: (_root, { after, types }, context, info) => {
      const { database, cipher, viewer } = context;
      const plan = planAccountEvents(database, cipher, {
        userId: viewer.userId,
        after: after == null ? undefined : parseAccountCursor(after),
        types: new Set(types ? requireTypes(types, viewer) : permittedTypes(viewer)),
        properties: findSelectedProperties(info),
      });
      return openStream(context, new SourceReader(database, plan));
    },
    resolve: (event) => event,
  }),
);

function permittedTypes(viewer: Viewer): AccountEventType[] {
  return accountEventTypes.filter((type) => checkAccess(access[type], viewer) === undefined);
}

/** @throws {MembershipRequiredError} if a type requires it and the viewer belongs to no organization */
function requireTypes(types: readonly AccountEventType[], viewer: Viewer): readonly AccountEventType[] {
  for (const type of types) {
    const error = checkAccess(access[type], viewer);
    if (error) throw error;
  }
  return types;
}
