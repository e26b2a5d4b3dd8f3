import type { DismissAllFilter } from './changes.ts';
import type { GatewayError } from './gateway-error.ts';
import type {
  NotificationFilter,
  NotificationPreferenceInput,
  PlanAnswerInput,
  QuestionAnswerInput,
  ReplyInput,
  RequestState,
  StoreEditorSubscriptionInput,
  WorkspaceFilter,
} from './generated/types.ts';
import type { InitialData } from './initial-data.ts';
import type {
  Answer,
  Counts,
  Delivery,
  EditorConnection,
  NotificationCard,
  Preference,
  WorkspaceCard,
} from './records.ts';
import type { TypedDocument } from './typed-document.ts';

/** Observable state. `get` returns the same object until something changes, as `useSyncExternalStore` requires. */
export type Store<State> = {
  get(): State;
  /** Calls the listener after every change. Returns a function that ends this. */
  subscribe(listener: () => void): () => void;
};

/** What was loaded. Data stays during reloads and failures. */
export type Loadable<Data> = {
  /** Undefined until the first load succeeds. */
  readonly data: Data | undefined;
  readonly isLoading: boolean;
  /** Why the last load failed. During `isLoading`, it is tried again at `retryAt`. */
  readonly error: GatewayError | undefined;
};

/** Loads when it gets its first subscriber, and follows live events while it has one. */
export type Resource<Data> = Store<Loadable<Data>> & {
  /** The state by the inbox's `initialData`, as a server and the first render of a browser show it. */
  getInitial(): Loadable<Data>;
  /** Loads again, at once. Failures are in `error`. */
  reload(): Promise<void>;
};

/** A list of which pages are loaded. */
export type List<Data> = Resource<Data> & {
  /** Loads the next page, if there is one. Failures are in `error`. */
  loadMore(): Promise<void>;
};

export type NotificationList = List<{
  readonly notifications: readonly NotificationCard[];
  readonly hasMore: boolean;
}>;
export type WorkspaceList = List<{
  readonly workspaces: readonly WorkspaceCard[];
  readonly hasMore: boolean;
}>;

/** The connection over which events arrive, perhaps of another tab. */
export type Connection = {
  /**
   * `idle` without subscribers, `connecting` until the first attempt succeeds or fails. Without a connection: `offline` if
   * the browser has no network, otherwise `waiting`, for the reason in `error`.
   */
  readonly state: 'idle' | 'connecting' | 'live' | 'offline' | 'waiting' | 'signedOut';
  /** When the next attempt is, in milliseconds since 1970; undefined during an attempt. */
  readonly retryAt: number | undefined;
  /** Why there is no connection. It stays during further attempts, until one succeeds. */
  readonly error: GatewayError | undefined;
};

export type InboxOptions = {
  /** Address of the GraphQL endpoint. A relative one is relative to the page. */
  url: string;
  /**
   * Returns the access token. It is called for every request, so return a stored one. `rejected` is a token that the
   * gateway has refused, perhaps because it expired: return another one.
   */
  getToken(rejected?: string): string | Promise<string>;
  /**
   * Names the account of a token; tabs share a stream only with the same name. Default: the issuer, user, organization
   * and scopes of a JWT. Required if tokens are not JWTs and several belong to the same account.
   */
  identify?(token: string): string;
  /** Notifications and workspaces per page, 1 to 100, 20 by default. */
  pageSize?: number;
  /** What `dehydrate` of an inbox on the server has returned. It is shown until it has been loaded again. */
  initialData?: InitialData;
};

/** An answer: a decision about a plan, answers to all questions, or a reply. */
export type AnswerContent =
  | { readonly plan: PlanAnswerInput }
  | { readonly questions: readonly QuestionAnswerInput[] }
  | { readonly reply: ReplyInput };

/** What became of an answer: it was stored, or the request was settled before, perhaps by another answer. */
export type AnswerOutcome =
  | { readonly type: 'stored'; readonly notification: NotificationCard }
  | {
      readonly type: 'alreadySettled';
      readonly state: RequestState;
      readonly settledAt: string;
      readonly answer: Answer | null;
      readonly notification: NotificationCard;
    };

/** What an inbox reports, each with the notifications whose events arrived together, oldest first. */
export type InboxEvents = {
  /** New active notifications, also those of the time without a connection. */
  arrived: readonly NotificationCard[];
  /** Notifications whose requests were answered by somebody else or in another tab, or expired, or were withdrawn. */
  settled: readonly NotificationCard[];
};

/** A dismissal of several notifications, which can be undone. */
export type Dismissal = {
  /** How many were dismissed. */
  readonly count: number;
  /** Restores them. */
  undo(): Promise<void>;
};

/** The live inbox of one user. Changes show at once, and are undone if they are refused with a {@link GatewayError}. */
export type Inbox = {
  readonly connection: Store<Connection>;
  /** Tries at once what waits for its next attempt: the connection, and what is loading. */
  reconnect(): void;
  /**
   * Calls the listener with news, also without any subscriber of a resource: keeps the stream of events open until the
   * returned function is called.
   */
  on<Type extends keyof InboxEvents>(type: Type, listener: (cards: InboxEvents[Type]) => void): () => void;
  /** Newest first. The same filter returns the same list. Default: `{ statuses: ['ACTIVE'] }`. */
  notifications(filter?: NotificationFilter): NotificationList;
  /** One notification, without a request if the inbox has its latest state. `data` is null if it does not exist. */
  notification(id: string): Resource<NotificationCard | null>;
  readonly counts: Resource<Counts>;
  readonly preferences: Resource<readonly Preference[]>;
  readonly editorAuth: Resource<EditorConnection>;
  /** Newest first. The same filter returns the same list. */
  workspaces(filter?: WorkspaceFilter): WorkspaceList;
  /** Where a notification was sent. Loaded again when the notification changes. */
  deliveries(notificationId: string): Resource<readonly Delivery[]>;
  dismiss(id: string): Promise<void>;
  /** Undoes a dismissal. */
  restore(id: string): Promise<void>;
  /** Counts the active notifications of a filter, and those of them that are open requests. @throws {GatewayError} */
  countActive(
    filter?: Pick<DismissAllFilter, 'kinds' | 'projectIds'>,
  ): Promise<{ readonly total: number; readonly openRequests: number }>;
  /**
   * Dismisses the active notifications of a filter, up to those that the latest counts include, so that none is dismissed
   * that the user cannot have seen. Open requests stay, unless `openRequests` is true.
   */
  dismissAll(filter?: DismissAllFilter): Promise<Dismissal>;
  /** Dismisses these active notifications, at most 100. */
  dismissMany(ids: readonly string[]): Promise<Dismissal>;
  /**
   * Sends an answer. Its ID survives a reload of the page until the outcome is known, so that sending the same content
   * again never counts as a second answer.
   */
  answer(id: string, content: AnswerContent): Promise<AnswerOutcome>;
  updatePreferences(changes: readonly NotificationPreferenceInput[]): Promise<void>;
  connectEditor(subscription: StoreEditorSubscriptionInput): Promise<void>;
  disconnectEditor(): Promise<void>;
  /** Returns what is loaded, as JSON, for the `initialData` of another inbox of the same account. */
  dehydrate(): InitialData;
  /** Executes an operation with the token and the retries of this client. @throws {GatewayError} its first error */
  request<Data, Variables>(document: TypedDocument<Data, Variables>, variables: Variables): Promise<Data>;
  /**
   * Ends the stream and forgets all data, at once. Everything later fails with the code `SIGNED_OUT`. The promise resolves
   * when this browser gets no more push messages, and never rejects.
   */
  signOut(): Promise<void>;
};
