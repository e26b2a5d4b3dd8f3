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
  Dismissal,
  Inbox,
  InboxEvents,
  InboxOptions,
  List,
  Loadable,
  NotificationList,
  Resource,
  Store,
  WorkspaceList,
} from './inbox-types.ts';
export type { InitialData } from './initial-data.ts';
export { onPushClick, type PushClick, subscribeToPush, unsubscribeFromPush } from './push.ts';
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
export { TypedDocument } from './typed-document.ts';
