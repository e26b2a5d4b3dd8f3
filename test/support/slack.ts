import { createHmac } from 'node:crypto';
import { listButtons, type Modal } from './block-kit.ts';
import { type ChatApi, type ChatMessage, startChatApi, TEAM } from './chat-api.ts';
import { putContact } from './delivery.ts';
import { eventually } from './eventually.ts';
import { startTestGateway, type TestGateway } from './gateway.ts';
import { type Kind, publish } from './records.ts';

const SIGNING_SECRET = '8f742231b10e8888abcd99yyyzzz85a5';

/** The settings of a gateway with a chat in which users answer. */
export const slackSettings = (chat: ChatApi) => ({
  CHAT_TOKEN: chat.token,
  CHAT_API_URL: chat.url,
  CHAT_SIGNING_SECRET: SIGNING_SECRET,
  APP_URL: 'https://app.example.com/inbox/{id}',
});

export type SlackGateway = TestGateway & { chat: ChatApi };

/** What members reach, and where a test looks. */
type Reached = Pick<SlackGateway, 'address' | 'database' | 'chat'>;

/** Starts a gateway and a chat. */
export async function startSlackGateway(settings: Record<string, string> = {}): Promise<SlackGateway> {
  const chat = await startChatApi();
  const gateway = await startTestGateway({ ...slackSettings(chat), ...settings });
  return {
    ...gateway,
    chat,
    async close() {
      await gateway.close();
      await chat.close();
    },
  };
}

/** Publishes a request to the member of a user, and returns it with the message, once the gateway knows where it is. */
export async function publishInChat(
  gateway: Reached,
  userId: string,
  kind: Kind = 'plan_requested',
  input: Record<string, unknown> = {},
): Promise<{ id: string; message: ChatMessage }> {
  await putContact(gateway, userId, { email: `${userId}@example.com`, chatMemberId: memberOf(userId) });
  const { id } = await publish(gateway, userId, kind, input);
  return { id, message: await awaitMessage(gateway, userId, id) };
}

/** Returns the message about a notification, once the gateway knows where it is. */
export async function awaitMessage(gateway: Reached, userId: string, id: string): Promise<ChatMessage> {
  await eventually(async () => {
    const sent = await gateway.database.sql(
      'select receipt from delivery where user_id = $1 and notification_id = $2 and receipt is not null',
      [userId, id],
    );
    if (sent.length === 0) throw new Error('The message was not sent.');
  });
  const message = gateway.chat.messages.findLast((one) => one.memberId === memberOf(userId));
  if (message === undefined) throw new Error('No message arrived.');
  return message;
}

export const memberOf = (userId: string) => `U-${userId}`;

/** What can differ from what Slack sends. */
export type Forged = {
  secret?: string;
  /** In seconds since 1970. */
  time?: number;
  /** What is added to the signed body. */
  suffix?: string;
  headers?: Record<string, string>;
  /** What replaces members of the payload. */
  payload?: object;
};

/** Signs a payload and sends it, as Slack does. */
export async function interact(gateway: { address: string }, payload: object, forged: Forged = {}) {
  const { secret = SIGNING_SECRET, time = Math.floor(Date.now() / 1000), suffix = '', headers } = forged;
  const body = new URLSearchParams({ payload: JSON.stringify({ ...payload, ...forged.payload }) }).toString();
  const signature = `v0=${createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')}`;
  const response = await fetch(`${gateway.address}/slack/interactions`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Slack-Request-Timestamp': String(time),
      'X-Slack-Signature': signature,
      ...headers,
    },
    body: body + suffix,
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

/** Creates the payload of a click on the button with a label. */
export function createClick({ chat }: { chat: ChatApi }, message: ChatMessage, label: string) {
  const button = listButtons(message.blocks).find(({ text }) => text.text === label);
  if (button === undefined) throw new Error(`There is no button "${label}".`);
  return {
    type: 'block_actions',
    user: { id: message.memberId },
    team: { id: TEAM },
    trigger_id: chat.createTrigger(),
    container: { type: 'message', channel_id: message.channel, message_ts: message.ts },
    actions: [{ type: 'button', action_id: button.action_id, value: button.value }],
  };
}

/** Presses a button. */
export const click = (gateway: Reached, message: ChatMessage, label: string, forged?: Forged) =>
  interact(gateway, createClick(gateway, message, label), forged);

/** The newest modal. */
export function lastModal({ chat }: { chat: ChatApi }): Modal {
  const modal = chat.modals.at(-1);
  if (modal === undefined) throw new Error('No modal was opened.');
  return modal;
}

/** Creates the payload of a modal that is sent with entries, by block. */
export function createSubmission(
  userId: string,
  { private_metadata, blocks }: Modal,
  entries: Record<string, string | string[]>,
) {
  const values = blocks.flatMap((block) => {
    if (block.type !== 'input') return [];
    const entry = entries[block.block_id];
    const { type } = block.element;
    const toOption = (value: string) => ({ value });
    const state =
      type === 'plain_text_input'
        ? { type, value: entry ?? null }
        : Array.isArray(entry) || type === 'checkboxes' || type === 'multi_static_select'
          ? { type, selected_options: [entry ?? []].flat().map(toOption) }
          : { type, selected_option: entry === undefined ? null : toOption(entry) };
    return [[block.block_id, { [block.block_id]: state }]];
  });
  return {
    type: 'view_submission',
    user: { id: memberOf(userId) },
    team: { id: TEAM },
    view: { private_metadata, state: { values: Object.fromEntries(values) } },
  };
}
