// Generated from operations.graphql and schema.graphql by `npm run schema`.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
export type AcknowledgeAnswerInput = {
  readonly message?: string | null | undefined;
  readonly notificationId: string;
  readonly outcome: AnswerReceiptOutcome;
  readonly userId: string;
};

export type AnswerNotificationInput = {
  readonly answerId: string;
  readonly id: string;
  readonly plan?: PlanAnswerInput | null | undefined;
  readonly questions?: ReadonlyArray<QuestionAnswerInput> | null | undefined;
  readonly reply?: ReplyInput | null | undefined;
};

export type AnswerReceiptOutcome =
  | 'ACCEPTED'
  | 'REFUSED';

export type AnswerVia =
  | 'CHAT'
  | 'DEFAULT'
  | 'EMAIL'
  | 'GRAPHQL'
  | 'REST';

export type ClaimEditorCredentialRefreshInput = {
  readonly claimId: string;
  readonly userId: string;
  readonly version: string;
};

export type DefaultAnswerInput =
  {   readonly plan: PlanAnswerInput; readonly questions?: never; readonly reply?: never; }
  |  { readonly plan?: never;   readonly questions: ReadonlyArray<QuestionAnswerInput>; readonly reply?: never; }
  |  { readonly plan?: never; readonly questions?: never;   readonly reply: ReplyInput; };

export type DeleteUserInput = {
  readonly userId: string;
};

export type DeleteWorkspaceInput = {
  readonly deletedAt: string;
  readonly id: string;
  readonly userId: string;
};

export type DeliveryReason =
  | 'CHANNEL_DISABLED'
  | 'EXPIRED'
  | 'LEASE_EXPIRED'
  | 'MESSAGE_REJECTED'
  | 'NO_PROVIDER'
  | 'NO_TARGET'
  | 'PROVIDER_REFUSED'
  | 'PROVIDER_UNAVAILABLE'
  | 'RATE_LIMITED'
  | 'RECIPIENT_REJECTED'
  | 'REPLY_LOST'
  | 'SETTLED'
  | 'TARGET_REMOVED'
  | 'TARGET_UNREADABLE'
  | 'TASK_NOTIFICATIONS_PER_HOUR'
  | 'TASK_REQUESTS_PER_HOUR';

export type DeliveryState =
  | 'CANCELLED'
  | 'DELIVERED'
  | 'FAILED'
  | 'MAYBE_DELIVERED'
  | 'PENDING'
  | 'SENDING'
  | 'SKIPPED';

export type EditorAuthFailureReason =
  | 'REFRESH_FAILED'
  | 'TOKEN_EXPIRED'
  | 'TOKEN_REVOKED';

export type EditorAuthType =
  | 'NONE'
  | 'SUBSCRIPTION';

export type HardwareInput = {
  readonly cpuKind: string;
  readonly cpus: number;
  readonly gpuKind?: string | null | undefined;
  readonly memoryMb: number;
  readonly volumeSizeGb: number;
};

export type NotificationChannel =
  | 'CHAT_DM'
  | 'EMAIL'
  | 'PUSH';

export type NotificationFilter = {
  readonly createdBefore?: string | null | undefined;
  readonly createdFrom?: string | null | undefined;
  readonly kinds?: ReadonlyArray<NotificationKind> | null | undefined;
  readonly projectIds?: ReadonlyArray<string> | null | undefined;
  readonly requestStates?: ReadonlyArray<RequestState> | null | undefined;
  readonly statuses?: ReadonlyArray<NotificationStatus> | null | undefined;
  readonly taskIds?: ReadonlyArray<string> | null | undefined;
};

export type NotificationKind =
  | 'PLAN_REQUESTED'
  | 'QUESTION_REQUESTED'
  | 'TASK_FAILED'
  | 'TASK_RESPONSE_READY';

export type NotificationPayloadInput =
  {   readonly planRequested: PlanRequestedInput; readonly questionRequested?: never; readonly taskFailed?: never; readonly taskResponseReady?: never; }
  |  { readonly planRequested?: never;   readonly questionRequested: QuestionRequestedInput; readonly taskFailed?: never; readonly taskResponseReady?: never; }
  |  { readonly planRequested?: never; readonly questionRequested?: never;   readonly taskFailed: TaskResultInput; readonly taskResponseReady?: never; }
  |  { readonly planRequested?: never; readonly questionRequested?: never; readonly taskFailed?: never;   readonly taskResponseReady: TaskResultInput; };

export type NotificationResolution =
  | 'ANSWERED'
  | 'ANSWERED_ELSEWHERE'
  | 'EXPIRED'
  | 'RESUMED'
  | 'SUPERSEDED'
  | 'TASK_DELETED';

export type NotificationResolveReason =
  | 'ANSWERED_ELSEWHERE'
  | 'RESUMED'
  | 'TASK_DELETED';

export type NotificationStatus =
  | 'ACTIVE'
  | 'DISMISSED'
  | 'RESOLVED';

export type NotificationTaskInput = {
  readonly id: string;
  readonly name?: string | null | undefined;
  readonly projectId: string;
  readonly workspaceId?: string | null | undefined;
};

export type PlanAnswerInput = {
  readonly decision: PlanDecision;
  readonly feedback?: string | null | undefined;
};

export type PlanDecision =
  | 'APPROVE'
  | 'REJECT'
  | 'REQUEST_CHANGES';

export type PlanRequestedInput = {
  readonly input: unknown;
  readonly toolId: string;
};

export type PlatformEventType =
  | 'CONTACT_SUSPENDED'
  | 'EDITOR_CREDENTIAL_DELETED'
  | 'EDITOR_CREDENTIAL_NEEDS_REAUTH'
  | 'EDITOR_CREDENTIAL_REFRESHED'
  | 'EDITOR_CREDENTIAL_STORED'
  | 'NOTIFICATION_ANSWERED'
  | 'NOTIFICATION_DISMISSED'
  | 'NOTIFICATION_EXPIRED'
  | 'NOTIFICATION_RESTORED'
  | 'NOTIFICATION_WITHDRAWN'
  | 'USER_DELETED';

export type PublishNotificationInput = {
  readonly expiresAt?: string | null | undefined;
  readonly expiresInSeconds?: number | null | undefined;
  readonly id?: string | null | undefined;
  readonly occurredAt?: string | null | undefined;
  readonly onExpiry?: DefaultAnswerInput | null | undefined;
  readonly payload: NotificationPayloadInput;
  readonly prUrl?: string | null | undefined;
  readonly previewText?: string | null | undefined;
  readonly projectName?: string | null | undefined;
  readonly projectRepoUrl?: string | null | undefined;
  readonly supersedes?: SupersedeScope | null | undefined;
  readonly task: NotificationTaskInput;
  readonly title: string;
  readonly userId: string;
};

export type PublishNotificationsInput = {
  readonly notifications: ReadonlyArray<PublishNotificationInput>;
};

export type PutContactInput = {
  readonly chatMemberId?: string | null | undefined;
  readonly email?: string | null | undefined;
  readonly userId: string;
};

export type PutWorkspacesInput = {
  readonly userId: string;
  readonly workspaces: ReadonlyArray<WorkspaceInput>;
};

export type QuestionAnswerInput = {
  readonly index: number;
  readonly options: ReadonlyArray<number>;
  readonly other?: string | null | undefined;
};

export type QuestionRequestedInput = {
  readonly input: unknown;
  readonly toolId: string;
};

export type ReauthReason =
  | 'CREDENTIAL_UNREADABLE'
  | 'REFRESH_FAILED'
  | 'TOKEN_EXPIRED'
  | 'TOKEN_REVOKED';

export type RefreshEditorCredentialInput = {
  readonly accessToken: string;
  readonly expiresAt?: string | null | undefined;
  readonly refreshToken?: string | null | undefined;
  readonly userId: string;
  readonly version: string;
};

export type ReplyInput = {
  readonly text: string;
};

export type ReportEditorAuthFailureInput = {
  readonly reason: EditorAuthFailureReason;
  readonly userId: string;
  readonly version: string;
};

export type RequestState =
  | 'ANSWERED'
  | 'EXPIRED'
  | 'OPEN'
  | 'WITHDRAWN';

export type ResolveNotificationsInput = {
  readonly before?: string | null | undefined;
  readonly ids?: ReadonlyArray<string> | null | undefined;
  readonly kinds?: ReadonlyArray<NotificationKind> | null | undefined;
  readonly reason: NotificationResolveReason;
  readonly taskId?: string | null | undefined;
  readonly toolId?: string | null | undefined;
  readonly userId: string;
};

export type RetryDeliveriesFilter = {
  readonly channels?: ReadonlyArray<NotificationChannel> | null | undefined;
  readonly userIds?: ReadonlyArray<string> | null | undefined;
};

export type RetryDeliveriesInput = {
  readonly filter?: RetryDeliveriesFilter | null | undefined;
};

export type SupersedeScope =
  | 'NOTHING'
  | 'TASK_AND_KIND'
  | 'TOOL_CALL';

export type TaskResultInput = {
  readonly message?: string | null | undefined;
  readonly messageLabel?: string | null | undefined;
  readonly messageTimestamp?: string | null | undefined;
  readonly taskStatus: TaskStatus;
};

export type TaskStatus =
  | 'AWAITING_INPUT'
  | 'ERRORED';

export type WorkspaceFilter = {
  readonly projectIds?: ReadonlyArray<string> | null | undefined;
  readonly statuses?: ReadonlyArray<WorkspaceStatus> | null | undefined;
};

export type WorkspaceInput = {
  readonly createdAt: string;
  readonly errorMessage?: string | null | undefined;
  readonly gitRef?: string | null | undefined;
  readonly hardware: HardwareInput;
  readonly id: string;
  readonly keepActive: boolean;
  readonly machineId?: string | null | undefined;
  readonly previewToken?: string | null | undefined;
  readonly privateIp?: string | null | undefined;
  readonly projectId: string;
  readonly status: WorkspaceStatus;
  readonly updatedAt: string;
};

export type WorkspaceStatus =
  | 'CREATING'
  | 'ERROR'
  | 'RUNNING'
  | 'STARTING'
  | 'STOPPED'
  | 'STOPPING';

export type ContactStateFragment = { readonly userId: string, readonly email: string | null, readonly emailSuspendedAt: string | null, readonly chatMemberId: string | null, readonly chatSuspendedAt: string | null };

export type NotificationsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
  filter?: NotificationFilter | null | undefined;
}>;


export type NotificationsQuery = { readonly notifications: { readonly totalCount: number, readonly nodes: ReadonlyArray<
      | NotificationCard_PlanRequestedNotification_Fragment
      | NotificationCard_QuestionRequestedNotification_Fragment
      | NotificationCard_TaskFailedNotification_Fragment
      | NotificationCard_TaskResponseReadyNotification_Fragment
    >, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type WorkspacesQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
  filter?: WorkspaceFilter | null | undefined;
}>;


export type WorkspacesQuery = { readonly workspaces: { readonly totalCount: number, readonly nodes: ReadonlyArray<WorkspaceCardFragment>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type RequestQueryVariables = Exact<{
  userId: string;
  notificationId: string;
  waitSeconds?: number | null | undefined;
}>;


export type RequestQuery = { readonly request: (
    { readonly notificationId: string, readonly userId: string }
    & RequestStateFragment
  ) | null };

export type EditorCredentialQueryVariables = Exact<{
  userId: string;
}>;


export type EditorCredentialQuery = { readonly editorCredential: { readonly accessToken: string, readonly refreshToken: string | null, readonly expiresAt: string | null, readonly version: string, readonly needsReauth: boolean, readonly reauthReason: ReauthReason | null } | null };

export type PlatformEventsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  types?: ReadonlyArray<PlatformEventType> | PlatformEventType | null | undefined;
}>;


export type PlatformEventsQuery = { readonly platformEvents: { readonly cursor: string, readonly hasMore: boolean, readonly events: ReadonlyArray<{ readonly cursor: string, readonly type: PlatformEventType, readonly userId: string, readonly notificationId: string | null, readonly taskId: string | null, readonly channel: NotificationChannel | null, readonly credentialVersion: string | null, readonly at: string }> } | null };

export type DeliveriesQueryVariables = Exact<{
  notificationId: string;
}>;


export type DeliveriesQuery = { readonly deliveries: ReadonlyArray<{ readonly channel: NotificationChannel, readonly pushSubscriptionId: string | null, readonly state: DeliveryState, readonly reason: DeliveryReason | null, readonly providerCode: string | null, readonly attempts: number, readonly nextAttemptAt: string | null, readonly createdAt: string, readonly updatedAt: string, readonly deliveredAt: string | null }> | null };

export type ContactQueryVariables = Exact<{ [key: string]: never; }>;


export type ContactQuery = { readonly contact: ContactStateFragment | null };

export type PushSubscriptionsQueryVariables = Exact<{ [key: string]: never; }>;


export type PushSubscriptionsQuery = { readonly pushSubscriptions: ReadonlyArray<{ readonly id: string, readonly host: string, readonly createdAt: string }> | null };

export type LatestPlatformCursorQueryVariables = Exact<{ [key: string]: never; }>;


export type LatestPlatformCursorQuery = { readonly latestPlatformCursor: string | null };

export type PublishMutationVariables = Exact<{
  input: PublishNotificationInput;
}>;


export type PublishMutation = { readonly publishNotification: { readonly created: boolean, readonly channels: ReadonlyArray<NotificationChannel>, readonly deliverByCaller: ReadonlyArray<NotificationChannel>, readonly notification:
      | NotificationCard_PlanRequestedNotification_Fragment
      | NotificationCard_QuestionRequestedNotification_Fragment
      | NotificationCard_TaskFailedNotification_Fragment
      | NotificationCard_TaskResponseReadyNotification_Fragment
     } | null };

export type PublishAllMutationVariables = Exact<{
  input: PublishNotificationsInput;
}>;


export type PublishAllMutation = { readonly publishNotifications: { readonly results: ReadonlyArray<{ readonly created: boolean, readonly channels: ReadonlyArray<NotificationChannel>, readonly deliverByCaller: ReadonlyArray<NotificationChannel>, readonly notification:
        | NotificationCard_PlanRequestedNotification_Fragment
        | NotificationCard_QuestionRequestedNotification_Fragment
        | NotificationCard_TaskFailedNotification_Fragment
        | NotificationCard_TaskResponseReadyNotification_Fragment
       }> } | null };

export type ResolveMutationVariables = Exact<{
  input: ResolveNotificationsInput;
}>;


export type ResolveMutation = { readonly resolveNotifications: { readonly notifications: ReadonlyArray<
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
    | { readonly __typename: 'AnswerStored', readonly answer: AnswerContentFragment | null, readonly notification:
        | NotificationCard_PlanRequestedNotification_Fragment
        | NotificationCard_QuestionRequestedNotification_Fragment
        | NotificationCard_TaskFailedNotification_Fragment
        | NotificationCard_TaskResponseReadyNotification_Fragment
       }
   | null };

export type DeleteUserMutationVariables = Exact<{
  input: DeleteUserInput;
}>;


export type DeleteUserMutation = { readonly deleteUser: { readonly deleted: boolean } | null };

export type AcknowledgeMutationVariables = Exact<{
  input: AcknowledgeAnswerInput;
}>;


export type AcknowledgeMutation = { readonly acknowledgeAnswer: { readonly notification:
      | NotificationCard_PlanRequestedNotification_Fragment
      | NotificationCard_QuestionRequestedNotification_Fragment
      | NotificationCard_TaskFailedNotification_Fragment
      | NotificationCard_TaskResponseReadyNotification_Fragment
     } | null };

export type PutWorkspacesMutationVariables = Exact<{
  input: PutWorkspacesInput;
}>;


export type PutWorkspacesMutation = { readonly putWorkspaces: { readonly workspaces: ReadonlyArray<WorkspaceCardFragment> } | null };

export type DeleteWorkspaceMutationVariables = Exact<{
  input: DeleteWorkspaceInput;
}>;


export type DeleteWorkspaceMutation = { readonly deleteWorkspace: { readonly deleted: boolean } | null };

export type PutContactMutationVariables = Exact<{
  input: PutContactInput;
}>;


export type PutContactMutation = { readonly putContact: { readonly contact: ContactStateFragment } | null };

export type RetryDeliveriesMutationVariables = Exact<{
  input: RetryDeliveriesInput;
}>;


export type RetryDeliveriesMutation = { readonly retryDeliveries: { readonly count: number } | null };

export type ClaimRefreshMutationVariables = Exact<{
  input: ClaimEditorCredentialRefreshInput;
}>;


export type ClaimRefreshMutation = { readonly claimEditorCredentialRefresh: { readonly granted: boolean, readonly claimedUntil: string } | null };

export type RefreshCredentialMutationVariables = Exact<{
  input: RefreshEditorCredentialInput;
}>;


export type RefreshCredentialMutation = { readonly refreshEditorCredential: { readonly version: string } | null };

export type ReportEditorFailureMutationVariables = Exact<{
  input: ReportEditorAuthFailureInput;
}>;


export type ReportEditorFailureMutation = { readonly reportEditorAuthFailure: { readonly applied: boolean, readonly editorAuth: EditorConnectionFragment } | null };

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
