import type { Claim, DeliveryData } from '../../src/delivery/claim.ts';
import type { Notification } from '../../src/notifications/notification.entity.ts';
import type { NotificationContent } from '../../src/notifications/payload.ts';

export const claim: Claim = {
  userId: 'alice',
  notificationId: 'n-1',
  channel: 'chat',
  target: '',
  provider: 'chat',
  step: 'message',
  claims: 1,
  attempts: 1,
  receipt: null,
  createdAt: '2026-05-04T10:00:00.000Z',
  expiresAt: '2026-05-05T10:00:00.000Z',
};

export const plan: NotificationContent = {
  kind: 'plan_requested',
  payload: { toolId: 'tool', input: { summary: 'Add a form.', plan: '1. Add a form.' } },
};

/** What {@link claim} sends. */
export const notification = {
  ...plan,
  byTask: false,
  title: 'Add a login page',
  previewText: null,
  taskId: 'task-1',
  taskName: 'Login',
  projectId: 'project-1',
  projectName: 'Shop',
  occurredAt: '2026-05-04T09:59:59.000Z',
} satisfies Partial<Notification>;

/** Where {@link claim} is sent to. */
export const data: DeliveryData = {
  ...claim,
  notification: undefined,
  status: 'active',
  requestState: 'open',
  resolvedAt: null,
  emailEnabled: null,
  pushEnabled: null,
  chatDmEnabled: null,
  email: null,
  emailSuspendedAt: null,
  chatMemberId: 'U1',
  chatSuspendedAt: null,
  subscriptionId: null,
  host: null,
  ciphertext: null,
  contactUpdatedAt: null,
  unwanted: null,
  mayBeDelivered: false,
  isExpired: false,
};
