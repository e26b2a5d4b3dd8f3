import type { builder } from '../graphql/builder.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { RequestStateEnum } from './answers/answer-enums.graphql.ts';
import { NotificationKindEnum, NotificationStatusEnum } from './notification-enums.graphql.ts';

type Fields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>;

/** The conditions by which the notifications of a user and those of all users can be filtered. */
export const filterFields = (t: Fields) => ({
  kinds: t.field({
    type: [NotificationKindEnum],
    description: 'Filter by kind. Defaults to all kinds. An empty list selects none.',
    validate: maxItems(100),
  }),
  statuses: t.field({
    type: [NotificationStatusEnum],
    description: 'Filter by status. Defaults to all statuses. An empty list selects none.',
    validate: maxItems(100),
  }),
  projectIds: t.idList({
    description: 'Filter by project. Defaults to all projects. An empty list selects none.',
    validate: { ...maxItems(100), items: idRule },
  }),
  requestStates: t.field({
    type: [RequestStateEnum],
    description:
      'Filter by the state of the request. `[OPEN]` selects everything that waits for an answer, dismissed or not. Defaults to all notifications, with or without a request. An empty list selects none.',
    validate: maxItems(100),
  }),
  createdBefore: t.field({
    type: 'DateTime',
    description: 'Selects only notifications created before this timestamp.',
  }),
});
