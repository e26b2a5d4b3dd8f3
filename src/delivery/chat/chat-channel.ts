import type { ChatConfig } from '../../config.ts';
import type { Notification } from '../../notifications/notification.entity.ts';
import { memberIdSchema } from '../../values/constraints.ts';
import { toAsked } from '../answers/give-answer.ts';
import type { Channel } from '../channel.ts';
import type { Message } from '../message.ts';
import { type AttemptOutcome, rejectMessage, rejectTarget } from '../outcome.ts';
import { ACCOUNT_INACTIVE, callApi, classifyReply, parseReceipt } from './chat-api.ts';
import { createBlocks } from './chat-blocks.ts';
import { createMetadata, findMessage } from './chat-history.ts';
import { formatMessage, formatSettledMessage } from './chat-text.ts';

/** A user's member ID in the chat, and what the message is about. */
export type ChatTarget = { memberId: string; notification?: Notification | undefined };

const CONCURRENCY = 5;
const CONCURRENCY_PER_USER = 4;
const ATTEMPT_MS = 20_000;

/** Disables mentions by name and link previews. */
const plain = { parse: 'none', link_names: false, unfurl_links: false, unfurl_media: false };

/** Creates the channel that sends direct messages over Slack's Web API. With a signing secret, requests have buttons. */
export function createChatChannel(config: ChatConfig): Channel<ChatTarget> {
  const call = async (method: string, parameters: object, signal: AbortSignal): Promise<AttemptOutcome> =>
    classifyReply(await callApi(config, method, parameters, signal), Date.now());

  /**
   * Slack returns `account_inactive` both if the token's account was deleted and if the member's was. `auth.test`
   * distinguishes them. If it succeeds, the member's account was deleted. If `auth.test` is permanently refused, the
   * outcome of the first call is returned. Any other outcome of `auth.test` is returned itself, such as `unavailable`
   * if the token's account was deleted.
   */
  const callForMember = async (
    method: string,
    parameters: object,
    signal: AbortSignal,
  ): Promise<AttemptOutcome> => {
    const outcome = await call(method, parameters, signal);
    if (outcome.kind !== 'unavailable' || outcome.providerCode !== ACCOUNT_INACTIVE) return outcome;
    const check = await call('auth.test', {}, signal);
    if (check.kind === 'delivered') return rejectTarget(ACCOUNT_INACTIVE);
    return check.kind === 'failed' ? outcome : check;
  };

  const createButtons = (message: Message, notification: Notification | undefined) => {
    const asked = config.signingSecret === null ? undefined : toAsked(notification);
    return asked?.notification.requestState === 'open' ? createBlocks(message, asked) : undefined;
  };

  return {
    concurrency: CONCURRENCY,
    concurrencyPerProvider: CONCURRENCY,
    concurrencyPerUser: CONCURRENCY_PER_USER,
    attemptMs: ATTEMPT_MS,
    async send(message, { memberId, notification }, signal) {
      // Version 0.2 accepted IDs of channels.
      if (!memberIdSchema.safeParse(memberId).success) return rejectTarget('ERR_NOT_A_MEMBER_ID');
      const metadata = createMetadata(message);
      const blocks = createButtons(message, notification);
      const parameters = { channel: memberId, text: formatMessage(message), blocks, metadata, ...plain };
      return callForMember('chat.postMessage', parameters, signal);
    },
    find: async (message, { memberId }, signal) =>
      memberId === '' ? undefined : findMessage(config, message, memberId, signal),
    async update(message, { notification }, receipt, signal) {
      const posted = parseReceipt(receipt);
      if (posted === undefined) {
        return rejectMessage(null);
      }
      const isActive = notification?.status === 'active';
      const text = isActive
        ? formatMessage(message)
        : formatSettledMessage(message, toAsked(notification)?.notification);
      // An empty list removes the blocks.
      const blocks = (isActive && createButtons(message, notification)) || [];
      const parameters = { ...posted, text, blocks, ...plain };
      const outcome = await callForMember('chat.update', parameters, signal);
      // The member may have left since the message was sent, or the user may have another member ID by now. A failed
      // update therefore does not suspend the current target.
      return outcome.kind === 'failed' ? { ...outcome, suspendTarget: false } : outcome;
    },
    // The connections of `fetch` do not keep the process running.
    close: async () => undefined,
  };
}
