// Generated from operations.graphql and schema.graphql by `npm run schema`.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
/** An answer: exactly one of `plan`, `questions` and `reply`. At most 64 KiB (65,536 bytes) as JSON in UTF-8, without spaces. */
export type AnswerNotificationInput = {
  /** The answer's ID, which the client generates, for example a UUID. A retry with the same ID and content returns the stored answer. */
  readonly answerId: string;
  /** The notification's ID. */
  readonly id: string;
  /** A decision, which answers a `PLAN_REQUESTED` notification. */
  readonly plan?: PlanAnswerInput | null | undefined;
  /** Answers to all questions, which answer a `QUESTION_REQUESTED` notification. At most 50. */
  readonly questions?: ReadonlyArray<QuestionAnswerInput> | null | undefined;
  /** A reply, which answers a `TASK_RESPONSE_READY` notification whose task awaits input. */
  readonly reply?: ReplyInput | null | undefined;
};

/** Whether the task could use an answer. */
export type AnswerReceiptOutcome =
  /** The task took the answer. */
  | 'ACCEPTED'
  /** The task could not use the answer, for example because it had ended. */
  | 'REFUSED';

/** How an answer was given. */
export type AnswerVia =
  /** By the user's member in the chat. */
  | 'CHAT'
  /** By nobody: the request expired, and the platform had published this answer for that. */
  | 'DEFAULT'
  /** By a link in a mail to the user. Who opened it is not known. */
  | 'EMAIL'
  /** By the user, over GraphQL. */
  | 'GRAPHQL'
  /** By the user, over REST. */
  | 'REST';

/** The reason why a delivery was skipped, cancelled, failed or retried. */
export type DeliveryReason =
  /** The user's preferences disable the channel. */
  | 'CHANNEL_DISABLED'
  /** The next attempt, to send or to update the message, would begin more than 24 hours after the publication or the latest `retryDeliveries`. */
  | 'EXPIRED'
  /** The sender stopped, or could not use the database, before it stored a result. The user may receive the message twice. */
  | 'LEASE_EXPIRED'
  /** The provider refused the message. */
  | 'MESSAGE_REJECTED'
  /** The gateway had no provider for the channel, so the publishing service had to deliver. */
  | 'NO_PROVIDER'
  /** The user had no address, chat member or push subscription for the channel, or the address or member was suspended. */
  | 'NO_TARGET'
  /** The provider refused the gateway's credentials, its sender address, or its access to the recipient, or the provider's certificate is invalid. */
  | 'PROVIDER_REFUSED'
  /** The provider did not respond or failed. */
  | 'PROVIDER_UNAVAILABLE'
  /** The provider's rate limit is exceeded. */
  | 'RATE_LIMITED'
  /** The provider refused the recipient. */
  | 'RECIPIENT_REJECTED'
  /** The message was sent but the reply was lost, so the user may receive it twice. */
  | 'REPLY_LOST'
  /** The notification was dismissed, resolved, superseded or deleted. */
  | 'SETTLED'
  /** The address, chat member or push subscription was removed or suspended. */
  | 'TARGET_REMOVED'
  /** The push subscription cannot be decrypted. */
  | 'TARGET_UNREADABLE'
  /** A task token published the notification, and 12 of its task that were no requests had been sent within an hour. */
  | 'TASK_NOTIFICATIONS_PER_HOUR'
  /** A task token published the request, and 30 requests of its task had been sent within an hour. */
  | 'TASK_REQUESTS_PER_HOUR';

/** The state of a delivery. */
export type DeliveryState =
  /** The delivery was cancelled before it was sent. `reason` gives the cause. */
  | 'CANCELLED'
  /** The provider accepted the message. */
  | 'DELIVERED'
  /** No further attempt is made unless `retryDeliveries` is called. `reason` gives the cause. */
  | 'FAILED'
  /** The delivery was cancelled or expired after an attempt that may have delivered the message: its reply was lost, or the sender stopped. `reason` gives the cause of the end. */
  | 'MAYBE_DELIVERED'
  /** The delivery waits for its next attempt. */
  | 'PENDING'
  /** An attempt is running. */
  | 'SENDING'
  /** No delivery was queued when the notification was published. `reason` gives the cause. */
  | 'SKIPPED';

/** The notification to dismiss. */
export type DismissNotificationInput = {
  /** The notification's ID. */
  readonly id: string;
};

/** A filter for active notifications that the user has seen. */
export type DismissNotificationsFilter = {
  /** Filter by kind. Defaults to all kinds. An empty list selects none. */
  readonly kinds?: ReadonlyArray<NotificationKind> | null | undefined;
  /** Whether notifications with an open request are dismissed, too. The requests stay open. */
  readonly openRequests?: boolean;
  /** Filter by project. Defaults to all projects. An empty list selects none. */
  readonly projectIds?: ReadonlyArray<string> | null | undefined;
  /** The newest event cursor from `notificationCounts` or `notificationEvents` that the user has seen. Notifications that changed after it are not dismissed. */
  readonly upTo: string;
};

/** The notifications to dismiss: a list of IDs, or a filter. */
export type DismissNotificationsInput =
  {   /** A filter for active notifications that the user has seen. */
  readonly filter: DismissNotificationsFilter; readonly ids?: never; }
  |  { readonly filter?: never;   /** The notifications' IDs, at most 100. Unknown IDs and IDs of other users' notifications are ignored. */
  readonly ids: ReadonlyArray<string>; };

/** The type of the method by which an editor is connected. */
export type EditorAuthType =
  /** No token pair is stored. */
  | 'NONE'
  /** A token pair is stored. */
  | 'SUBSCRIPTION';

/** A channel that delivers notifications to a user. */
export type NotificationChannel =
  /** Chat direct message. */
  | 'CHAT_DM'
  /** Email. */
  | 'EMAIL'
  /** Push message. */
  | 'PUSH';

/** A filter of notifications. Notifications must meet all conditions. */
export type NotificationFilter = {
  /** Selects only notifications created before this timestamp. */
  readonly createdBefore?: string | null | undefined;
  /** Selects only notifications created at this timestamp or later. */
  readonly createdFrom?: string | null | undefined;
  /** Filter by kind. Defaults to all kinds. An empty list selects none. */
  readonly kinds?: ReadonlyArray<NotificationKind> | null | undefined;
  /** Filter by project. Defaults to all projects. An empty list selects none. */
  readonly projectIds?: ReadonlyArray<string> | null | undefined;
  /** Filter by the state of the request. `[OPEN]` selects everything that waits for an answer, dismissed or not. Defaults to all notifications, with or without a request. An empty list selects none. */
  readonly requestStates?: ReadonlyArray<RequestState> | null | undefined;
  /** Filter by status. Defaults to all statuses. An empty list selects none. */
  readonly statuses?: ReadonlyArray<NotificationStatus> | null | undefined;
  /** Filter by task. Defaults to all tasks. An empty list selects none. */
  readonly taskIds?: ReadonlyArray<string> | null | undefined;
};

/** The kind of a notification. It determines the type of the payload. */
export type NotificationKind =
  /** The task asks the user to approve a plan. */
  | 'PLAN_REQUESTED'
  /** The task asks the user questions. */
  | 'QUESTION_REQUESTED'
  /** The task failed. */
  | 'TASK_FAILED'
  /** The task produced a response. */
  | 'TASK_RESPONSE_READY';

/** The channels for one kind of notification, or for all kinds. At least one channel is required; the others do not change. */
export type NotificationPreferenceInput = {
  /** Whether chat direct messages are enabled. Defaults to the current value. */
  readonly chatDmEnabled?: boolean | null | undefined;
  /** Whether email is enabled. Defaults to the current value. */
  readonly emailEnabled?: boolean | null | undefined;
  /** The kind of notification. Defaults to all kinds. */
  readonly notificationKind?: NotificationKind | null | undefined;
  /** Whether push messages are enabled. Defaults to the current value. */
  readonly pushEnabled?: boolean | null | undefined;
};

/** The reason why a notification was resolved. */
export type NotificationResolution =
  /** Its request has an answer. */
  | 'ANSWERED'
  /** The user answered outside the gateway, for example in the editor. */
  | 'ANSWERED_ELSEWHERE'
  /** Its request expired without an answer. */
  | 'EXPIRED'
  /** The task resumed without an answer. */
  | 'RESUMED'
  /** A later notification of the same task and kind replaced it. */
  | 'SUPERSEDED'
  /** The task was deleted. */
  | 'TASK_DELETED';

/** The status of a notification. */
export type NotificationStatus =
  /** The notification needs the user's attention. */
  | 'ACTIVE'
  /** The user dismissed the notification. */
  | 'DISMISSED'
  /** The user answered, the request expired, the platform resolved the notification, or a later one superseded it. `resolution` gives the reason. */
  | 'RESOLVED';

/** A decision about a plan. */
export type PlanAnswerInput = {
  /** The decision. */
  readonly decision: PlanDecision;
  /** What the task should consider. Blank text is stored as `null`. At most 10,000 characters. */
  readonly feedback?: string | null | undefined;
};

/** What a user decides about a plan. */
export type PlanDecision =
  /** The task may carry out the plan. */
  | 'APPROVE'
  /** The task must not carry out the plan. */
  | 'REJECT'
  /** The task should ask again with another plan. */
  | 'REQUEST_CHANGES';

/** The keys with which messages to a browser are encrypted. */
export type PushSubscriptionKeysInput = {
  /** The authentication secret: 16 bytes, base64url. */
  readonly auth: string;
  /** The browser's public key: an uncompressed point on P-256, base64url. */
  readonly p256dh: string;
};

/** The answer to one question: an option, several if the question has `multiSelect`, or `other` instead. With `multiSelect`, `other` can be combined with options. */
export type QuestionAnswerInput = {
  /** The index of the question, from 0. */
  readonly index: number;
  /** The indexes of the chosen options, from 0. Empty if `other` is the answer. */
  readonly options: ReadonlyArray<number>;
  /** An answer that is not among the options. At most 10,000 characters. */
  readonly other?: string | null | undefined;
};

/** The reason why the user must connect the editor again. */
export type ReauthReason =
  /** The key that encrypted the token pair is not configured. */
  | 'CREDENTIAL_UNREADABLE'
  /** The provider issued no new token pair. */
  | 'REFRESH_FAILED'
  /** The token pair expired. */
  | 'TOKEN_EXPIRED'
  /** The provider revoked the token pair. */
  | 'TOKEN_REVOKED';

/** A push subscription, as `PushSubscription.toJSON()` returns it in a browser. */
export type RegisterPushSubscriptionInput = {
  /** The URL to which messages are sent: `https`, port 443 and a public host, unless the operator allows another host. At most 2,048 characters. */
  readonly endpoint: string;
  /** Ignored: the push service reports when the subscription has expired. */
  readonly expirationTime?: number | null | undefined;
  /** The keys with which messages are encrypted. */
  readonly keys: PushSubscriptionKeysInput;
};

/** The push subscription to remove. */
export type RemovePushSubscriptionInput = {
  /** The subscription's ID. */
  readonly id: string;
};

/** A reply to the response of a task. */
export type ReplyInput = {
  /** The reply. At most 10,000 characters. */
  readonly text: string;
};

/** The state of a request. A state other than `OPEN` is final. */
export type RequestState =
  /** The request has an answer: the user gave it, or the request expired and had a default. */
  | 'ANSWERED'
  /** The request expired without an answer. Nobody refused anything. */
  | 'EXPIRED'
  /** The request waits for an answer. */
  | 'OPEN'
  /** The platform resolved the notification, or a later one superseded it, before there was an answer. */
  | 'WITHDRAWN';

/** The notification to restore. */
export type RestoreNotificationInput = {
  /** The notification's ID. */
  readonly id: string;
};

/** The notifications to restore: a list of IDs, or a dismissal. */
export type RestoreNotificationsInput =
  {   /** The notifications' IDs, at most 100. Unknown IDs and IDs of other users' notifications are ignored. */
  readonly ids: ReadonlyArray<string>; readonly undoToken?: never; }
  |  { readonly ids?: never;   /** The `undoToken` of `dismissNotifications`. Restores all that the call dismissed and that are still dismissed by it. */
  readonly undoToken: string; };

/** The token pair of a user's editor subscription. */
export type StoreEditorSubscriptionInput = {
  /** The access token. */
  readonly accessToken: string;
  /** Timestamp at which the access token expires, if known. Replaces the stored one, also if it is omitted. */
  readonly expiresAt?: string | null | undefined;
  /** The refresh token. `null` if there is none, such as for a long-lived access token. */
  readonly refreshToken?: string | null | undefined;
};

/** The status of a task that failed or produced a response. */
export type TaskStatus =
  /** The task is waiting for input from the user. */
  | 'AWAITING_INPUT'
  /** The task stopped with an error. */
  | 'ERRORED';

/** Changes of notification preferences. */
export type UpdateNotificationPreferencesInput = {
  /** The changes, at most 100. They are applied in order, so later ones override earlier ones. Those without a kind must not differ. */
  readonly preferences: ReadonlyArray<NotificationPreferenceInput>;
};

/** A filter of workspaces. Workspaces must meet all conditions. */
export type WorkspaceFilter = {
  /** Filter by project. Defaults to all projects. An empty list selects none. */
  readonly projectIds?: ReadonlyArray<string> | null | undefined;
  /** Filter by status. Defaults to all statuses. An empty list selects none. */
  readonly statuses?: ReadonlyArray<WorkspaceStatus> | null | undefined;
};

/** The status of a workspace. */
export type WorkspaceStatus =
  /** The workspace is being created. */
  | 'CREATING'
  /** The workspace failed. `errorMessage` has the details, if known. */
  | 'ERROR'
  /** The workspace is running. */
  | 'RUNNING'
  /** The workspace is starting. */
  | 'STARTING'
  /** The workspace is stopped. */
  | 'STOPPED'
  /** The workspace is stopping. */
  | 'STOPPING';

type NotificationCard_PlanRequestedNotification_Fragment = { readonly __typename: 'PlanRequestedNotification', readonly ref: string, readonly id: string, readonly kind: NotificationKind, readonly status: NotificationStatus, readonly title: string, readonly previewText: string | null, readonly projectName: string | null, readonly projectRepoUrl: string | null, readonly prUrl: string | null, readonly occurredAt: string, readonly createdAt: string, readonly updatedAt: string, readonly dismissedAt: string | null, readonly resolvedAt: string | null, readonly resolution: NotificationResolution | null, readonly payload: { readonly summary: string, readonly plan: string, readonly input: unknown }, readonly task: { readonly id: string, readonly name: string | null, readonly projectId: string, readonly workspaceId: string | null }, readonly request: RequestStateFragment | null };

type NotificationCard_QuestionRequestedNotification_Fragment = { readonly __typename: 'QuestionRequestedNotification', readonly ref: string, readonly id: string, readonly kind: NotificationKind, readonly status: NotificationStatus, readonly title: string, readonly previewText: string | null, readonly projectName: string | null, readonly projectRepoUrl: string | null, readonly prUrl: string | null, readonly occurredAt: string, readonly createdAt: string, readonly updatedAt: string, readonly dismissedAt: string | null, readonly resolvedAt: string | null, readonly resolution: NotificationResolution | null, readonly payload: { readonly questions: ReadonlyArray<{ readonly questionId: string | null, readonly header: string | null, readonly question: string, readonly multiSelect: boolean | null, readonly options: ReadonlyArray<{ readonly label: string, readonly description: string | null, readonly preview: string | null }> }> }, readonly task: { readonly id: string, readonly name: string | null, readonly projectId: string, readonly workspaceId: string | null }, readonly request: RequestStateFragment | null };

type NotificationCard_TaskFailedNotification_Fragment = { readonly __typename: 'TaskFailedNotification', readonly ref: string, readonly id: string, readonly kind: NotificationKind, readonly status: NotificationStatus, readonly title: string, readonly previewText: string | null, readonly projectName: string | null, readonly projectRepoUrl: string | null, readonly prUrl: string | null, readonly occurredAt: string, readonly createdAt: string, readonly updatedAt: string, readonly dismissedAt: string | null, readonly resolvedAt: string | null, readonly resolution: NotificationResolution | null, readonly payload: TaskResultFragment, readonly task: { readonly id: string, readonly name: string | null, readonly projectId: string, readonly workspaceId: string | null }, readonly request: RequestStateFragment | null };

type NotificationCard_TaskResponseReadyNotification_Fragment = { readonly __typename: 'TaskResponseReadyNotification', readonly ref: string, readonly id: string, readonly kind: NotificationKind, readonly status: NotificationStatus, readonly title: string, readonly previewText: string | null, readonly projectName: string | null, readonly projectRepoUrl: string | null, readonly prUrl: string | null, readonly occurredAt: string, readonly createdAt: string, readonly updatedAt: string, readonly dismissedAt: string | null, readonly resolvedAt: string | null, readonly resolution: NotificationResolution | null, readonly payload: TaskResultFragment, readonly task: { readonly id: string, readonly name: string | null, readonly projectId: string, readonly workspaceId: string | null }, readonly request: RequestStateFragment | null };

export type NotificationCardFragment =
  | NotificationCard_PlanRequestedNotification_Fragment
  | NotificationCard_QuestionRequestedNotification_Fragment
  | NotificationCard_TaskFailedNotification_Fragment
  | NotificationCard_TaskResponseReadyNotification_Fragment
;

export type TaskResultFragment = { readonly taskStatus: TaskStatus, readonly message: string | null, readonly messageLabel: string | null, readonly messageTimestamp: string | null };

export type RequestStateFragment = { readonly state: RequestState, readonly expiresAt: string | null, readonly onExpiry: AnswerContentFragment | null, readonly answer: AnswerContentFragment | null, readonly receipt: { readonly outcome: AnswerReceiptOutcome, readonly message: string | null, readonly at: string } | null };

export type AnswerContentFragment = { readonly answerId: string | null, readonly by: string | null, readonly via: AnswerVia, readonly answeredAt: string, readonly plan: { readonly decision: PlanDecision, readonly feedback: string | null } | null, readonly questions: ReadonlyArray<{ readonly index: number, readonly question: string, readonly options: ReadonlyArray<number>, readonly labels: ReadonlyArray<string>, readonly other: string | null }> | null, readonly reply: { readonly text: string } | null };

export type CountsFragment = { readonly ref: string, readonly total: number, readonly openRequests: number, readonly byKind: ReadonlyArray<{ readonly kind: NotificationKind, readonly count: number }> };

export type PreferenceFragment = { readonly ref: string, readonly notificationKind: NotificationKind, readonly emailEnabled: boolean, readonly pushEnabled: boolean, readonly chatDmEnabled: boolean };

export type EditorConnectionFragment = { readonly ref: string, readonly needsReauth: boolean, readonly reauthReason: ReauthReason | null, readonly auth: { readonly type: EditorAuthType } };

export type WorkspaceCardFragment = { readonly ref: string, readonly id: string, readonly projectId: string, readonly status: WorkspaceStatus, readonly errorMessage: string | null, readonly gitRef: string | null, readonly keepActive: boolean, readonly createdAt: string, readonly updatedAt: string, readonly hardware: { readonly cpus: number, readonly cpuKind: string, readonly gpuKind: string | null, readonly memoryMb: number, readonly volumeSizeGb: number } };

export type NotificationsQueryVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: NotificationFilter | null | undefined;
}>;


export type NotificationsQuery = { readonly notifications: { readonly nodes: ReadonlyArray<
      | NotificationCard_PlanRequestedNotification_Fragment
      | NotificationCard_QuestionRequestedNotification_Fragment
      | NotificationCard_TaskFailedNotification_Fragment
      | NotificationCard_TaskResponseReadyNotification_Fragment
    >, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type NotificationQueryVariables = Exact<{
  id: string;
}>;


export type NotificationQuery = { readonly notification:
    | NotificationCard_PlanRequestedNotification_Fragment
    | NotificationCard_QuestionRequestedNotification_Fragment
    | NotificationCard_TaskFailedNotification_Fragment
    | NotificationCard_TaskResponseReadyNotification_Fragment
   | null };

export type CountsQueryVariables = Exact<{ [key: string]: never; }>;


export type CountsQuery = { readonly notificationCounts: (
    { readonly cursor: string }
    & CountsFragment
  ) | null };

export type PreferencesQueryVariables = Exact<{ [key: string]: never; }>;


export type PreferencesQuery = { readonly notificationPreferences: ReadonlyArray<PreferenceFragment> | null };

export type EditorConnectionQueryVariables = Exact<{ [key: string]: never; }>;


export type EditorConnectionQuery = { readonly editorAuth: EditorConnectionFragment | null };

export type WorkspacesQueryVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: WorkspaceFilter | null | undefined;
}>;


export type WorkspacesQuery = { readonly workspaces: { readonly nodes: ReadonlyArray<WorkspaceCardFragment>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type DeliveriesQueryVariables = Exact<{
  notificationId: string;
}>;


export type DeliveriesQuery = { readonly deliveries: ReadonlyArray<{ readonly ref: string, readonly channel: NotificationChannel, readonly pushSubscriptionId: string | null, readonly state: DeliveryState, readonly reason: DeliveryReason | null, readonly attempts: number, readonly nextAttemptAt: string | null, readonly deliveredAt: string | null }> | null };

export type ActiveCountsQueryVariables = Exact<{
  all: NotificationFilter;
  open: NotificationFilter;
}>;


export type ActiveCountsQuery = { readonly all: { readonly totalCount: number } | null, readonly open: { readonly totalCount: number } | null };

export type PushPublicKeyQueryVariables = Exact<{ [key: string]: never; }>;


export type PushPublicKeyQuery = { readonly pushPublicKey: string | null };

export type DismissMutationVariables = Exact<{
  input: DismissNotificationInput;
}>;


export type DismissMutation = { readonly dismissNotification: { readonly notification:
      | NotificationCard_PlanRequestedNotification_Fragment
      | NotificationCard_QuestionRequestedNotification_Fragment
      | NotificationCard_TaskFailedNotification_Fragment
      | NotificationCard_TaskResponseReadyNotification_Fragment
     } | null };

export type DismissAllMutationVariables = Exact<{
  input: DismissNotificationsInput;
}>;


export type DismissAllMutation = { readonly dismissNotifications: { readonly dismissedCount: number, readonly undoToken: string | null, readonly notifications: ReadonlyArray<
      | { readonly __typename: 'PlanRequestedNotification', readonly ref: string, readonly id: string, readonly status: NotificationStatus, readonly updatedAt: string, readonly dismissedAt: string | null }
      | { readonly __typename: 'QuestionRequestedNotification', readonly ref: string, readonly id: string, readonly status: NotificationStatus, readonly updatedAt: string, readonly dismissedAt: string | null }
      | { readonly __typename: 'TaskFailedNotification', readonly ref: string, readonly id: string, readonly status: NotificationStatus, readonly updatedAt: string, readonly dismissedAt: string | null }
      | { readonly __typename: 'TaskResponseReadyNotification', readonly ref: string, readonly id: string, readonly status: NotificationStatus, readonly updatedAt: string, readonly dismissedAt: string | null }
    > } | null };

export type RestoreMutationVariables = Exact<{
  input: RestoreNotificationInput;
}>;


export type RestoreMutation = { readonly restoreNotification: { readonly notification:
      | NotificationCard_PlanRequestedNotification_Fragment
      | NotificationCard_QuestionRequestedNotification_Fragment
      | NotificationCard_TaskFailedNotification_Fragment
      | NotificationCard_TaskResponseReadyNotification_Fragment
     } | null };

export type RestoreAllMutationVariables = Exact<{
  input: RestoreNotificationsInput;
}>;


export type RestoreAllMutation = { readonly restoreNotifications: { readonly restoredCount: number, readonly notifications: ReadonlyArray<
      | NotificationCard_PlanRequestedNotification_Fragment
      | NotificationCard_QuestionRequestedNotification_Fragment
      | NotificationCard_TaskFailedNotification_Fragment
      | NotificationCard_TaskResponseReadyNotification_Fragment
    > } | null };

export type AnswerMutationVariables = Exact<{
  input: AnswerNotificationInput;
}>;


export type AnswerMutation = { readonly answerNotification:
    | { readonly __typename: 'AlreadySettled', readonly state: RequestState, readonly settledAt: string, readonly answer: AnswerContentFragment | null, readonly notification:
        | NotificationCard_PlanRequestedNotification_Fragment
        | NotificationCard_QuestionRequestedNotification_Fragment
        | NotificationCard_TaskFailedNotification_Fragment
        | NotificationCard_TaskResponseReadyNotification_Fragment
       }
    | { readonly __typename: 'AnswerStored', readonly notification:
        | NotificationCard_PlanRequestedNotification_Fragment
        | NotificationCard_QuestionRequestedNotification_Fragment
        | NotificationCard_TaskFailedNotification_Fragment
        | NotificationCard_TaskResponseReadyNotification_Fragment
       }
   | null };

export type UpdatePreferencesMutationVariables = Exact<{
  input: UpdateNotificationPreferencesInput;
}>;


export type UpdatePreferencesMutation = { readonly updateNotificationPreferences: { readonly preferences: ReadonlyArray<PreferenceFragment> } | null };

export type ConnectEditorMutationVariables = Exact<{
  input: StoreEditorSubscriptionInput;
}>;


export type ConnectEditorMutation = { readonly storeEditorSubscription: { readonly editorAuth: EditorConnectionFragment } | null };

export type DisconnectEditorMutationVariables = Exact<{ [key: string]: never; }>;


export type DisconnectEditorMutation = { readonly deleteEditorAuth: { readonly editorAuth: EditorConnectionFragment } | null };

export type RegisterPushMutationVariables = Exact<{
  input: RegisterPushSubscriptionInput;
}>;


export type RegisterPushMutation = { readonly registerPushSubscription: { readonly pushSubscription: { readonly ref: string, readonly id: string, readonly host: string, readonly createdAt: string } } | null };

export type RemovePushMutationVariables = Exact<{
  input: RemovePushSubscriptionInput;
}>;


export type RemovePushMutation = { readonly removePushSubscription: { readonly removed: boolean } | null };

export type AccountEventsSubscriptionVariables = Exact<{
  after?: string | null | undefined;
}>;


export type AccountEventsSubscription = { readonly accountEvents: { readonly cursor: string, readonly content:
      | { readonly __typename: 'EditorAuthEvent', readonly editorAuth: EditorConnectionFragment }
      | (
        { readonly __typename: 'NotificationCounts', readonly cursor: string }
        & CountsFragment
      )
      | { readonly __typename: 'NotificationEvent', readonly notification:
          | NotificationCard_PlanRequestedNotification_Fragment
          | NotificationCard_QuestionRequestedNotification_Fragment
          | NotificationCard_TaskFailedNotification_Fragment
          | NotificationCard_TaskResponseReadyNotification_Fragment
         }
      | { readonly __typename: 'StreamStart', readonly resumed: boolean }
      | { readonly __typename: 'WorkspaceEvent', readonly workspaceId: string, readonly workspace: WorkspaceCardFragment | null }
     } };
