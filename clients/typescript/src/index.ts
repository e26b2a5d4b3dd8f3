export type { DismissAllFilter } from './changes.ts';
export { type ErrorCode, type FieldError, GatewayError } from './gateway-error.ts';
export type {
  NotificationFilter,
  NotificationKind,
  NotificationPreferenceInput,
  NotificationStatus,
  PlanAnswerInput,
  PlanDecision,
  QuestionAnswerInput,
  ReplyInput,
  RequestState,
  StoreEditorSubscriptionInput,
  WorkspaceFilter,
  WorkspaceStatus,
} from './generated/types.ts';
export { createInbox } from './inbox.ts';
export type {
  AnswerContent,
  AnswerOutcome,
  Connection,
  Inbox,
  InboxOptions,
  List,
  Loadable,
  NotificationList,
  Resource,
  Store,
  WorkspaceList,
} from './inbox-types.ts';
export {
  type Answer,
  type Counts,
  type Delivery,
  type EditorConnection,
  isKnownNotification,
  type KnownNotificationCard,
  listInput,
  type NotificationCard,
  type Preference,
  type UnknownNotificationCard,
  type WorkspaceCard,
} from './records.ts';
export { subscribeToPush } from './subscribe-to-push.ts';
export { TypedDocument } from './typed-document.ts';
