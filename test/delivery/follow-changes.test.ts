import { expect, test } from 'vitest';
import { decideChange } from '../../src/delivery/follow-changes.ts';
import type { OpenDelivery } from '../../src/delivery/select-deliveries.ts';
import { data } from '../support/delivery-job.ts';

/* What becomes of open deliveries, by what has become of their notifications and channels. */

const resolvedAt = '2026-05-04T10:00:00.000Z';
const notifications = {
  active: {},
  'a dismissed request': { status: 'dismissed' },
  'another dismissed': { status: 'dismissed', requestState: 'none' },
  resolved: { status: 'resolved', requestState: 'answered', resolvedAt },
  'answered while dismissed': { status: 'dismissed', requestState: 'answered', resolvedAt },
  deleted: { status: null, requestState: null },
  'in a disabled channel': { emailEnabled: false, pushEnabled: false, chatDmEnabled: false },
} as const satisfies Record<string, Partial<OpenDelivery>>;

const deliveries = {
  pending: { state: 'pending' },
  'a chat message that may have arrived': { state: 'pending', mayBeDelivered: true },
  'an email that may have arrived': { state: 'pending', mayBeDelivered: true, channel: 'email' },
  'a pending update': { state: 'pending', step: 'update' },
  sending: { state: 'sending' },
  cancelled: { state: 'cancelled' },
  'cancelled, and its time is over': { state: 'cancelled', isExpired: true },
  delivered: { state: 'delivered' },
  updated: { state: 'delivered', step: 'update' },
  'updated long ago': { state: 'delivered', step: 'update', isExpired: true, wasDismissedLongAgo: true },
} as const satisfies Record<string, Partial<OpenDelivery>>;

const dismissed = ['a dismissed request', 'another dismissed'] as const;
const final = ['resolved', 'answered while dismissed', 'deleted'] as const;
const disabled = 'in a disabled channel';

/* What becomes of the delivery, and whether it stays open. */
test.each<[what: keyof typeof deliveries, of: readonly (keyof typeof notifications)[], becomes: string]>([
  ['pending', ['active'], 'unchanged'],
  ['pending', dismissed, 'cancel settled open'],
  ['pending', final, 'cancel settled'],
  ['pending', [disabled], 'cancel channel_disabled'],
  ['a chat message that may have arrived', ['active'], 'unchanged'],
  ['a chat message that may have arrived', [...dismissed, ...final, disabled], 'search'],
  ['an email that may have arrived', dismissed, 'cancel settled open'],
  ['an email that may have arrived', final, 'cancel settled'],
  ['a pending update', ['active', ...dismissed, ...final, disabled], 'unchanged'],
  ['sending', ['active', ...dismissed, ...final, disabled], 'unchanged'],
  ['cancelled', ['active'], 'queue open'],
  ['cancelled', dismissed, 'unchanged'],
  ['cancelled', [...final, disabled], 'close'],
  ['cancelled, and its time is over', ['active', ...dismissed, ...final], 'close'],
  ['delivered', ['active', disabled], 'unchanged'],
  ['delivered', [...dismissed, ...final], 'update open'],
  ['updated', ['active', ...final, disabled], 'update open'],
  ['updated', dismissed, 'unchanged'],
  ['updated long ago', ['active', ...final], 'update open'],
  ['updated long ago', ['a dismissed request'], 'unchanged'],
  ['updated long ago', ['another dismissed'], 'close'],
])('%s, of a notification that is %j: %s', (what, of, becomes) => {
  for (const name of of) {
    const change = decideChange({
      ...data,
      wasDismissedLongAgo: false,
      ...deliveries[what],
      ...notifications[name],
    });
    const found = change ? [change.action, change.reason, change.isOpen && 'open'] : ['unchanged'];
    expect(found.filter(Boolean).join(' '), name).toBe(becomes);
  }
});
