import type {
  AnswerContentFragment,
  CountsFragment,
  DeliveriesQuery,
  EditorConnectionFragment,
  NotificationCardFragment,
  PreferenceFragment,
  WorkspaceCardFragment,
} from './generated/types.ts';

/** A notification of one of the four kinds, which `__typename` names. */
export type KnownNotificationCard = NotificationCardFragment;

/** A notification of a kind that this version of the client does not know: it has no payload. */
export type UnknownNotificationCard = Omit<NotificationCardFragment, '__typename' | 'kind' | 'payload'> & {
  readonly __typename: string;
  readonly kind: string;
  readonly payload?: undefined;
};

/** A notification. {@link isKnownNotification} decides whether it has a payload. */
export type NotificationCard = KnownNotificationCard | UnknownNotificationCard;

export type WorkspaceCard = WorkspaceCardFragment;
export type Counts = CountsFragment;
export type Preference = PreferenceFragment;
export type EditorConnection = EditorConnectionFragment;
export type Answer = AnswerContentFragment;
export type Delivery = NonNullable<DeliveriesQuery['deliveries']>[number];

const KNOWN_TYPES: readonly string[] = [
  'PlanRequestedNotification',
  'QuestionRequestedNotification',
  'TaskFailedNotification',
  'TaskResponseReadyNotification',
] satisfies readonly KnownNotificationCard['__typename'][];

/** Whether this version of the client knows the kind of a notification, and so its payload. */
export function isKnownNotification(card: NotificationCard): card is KnownNotificationCard {
  return KNOWN_TYPES.includes(card.__typename);
}

/** Returns all members of a plan's `input`, as texts, so that users see everything that they approve. */
export function listInput(input: unknown): readonly { readonly name: string; readonly text: string }[] {
  return Object.entries(Object(input)).map(([name, value]) => ({
    name,
    text: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
  }));
}
