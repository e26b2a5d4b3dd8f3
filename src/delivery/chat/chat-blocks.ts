import { z } from 'zod';
import type { Notification } from '../../notifications/notification.entity.ts';
import { showHidden, toLine, truncate } from '../../values/text.ts';
import { fieldsOf, listPrompts, listValues, type Prompt } from '../answers/answer-form.ts';
import { textsIn } from '../answers/answer-texts.ts';
import type { Asked } from '../answers/give-answer.ts';
import { breakLinks, type Message } from '../message.ts';
import { escapeControls, formatMessage } from './chat-text.ts';

/** Slack's limits for texts, labels, values, sections of a message, blocks of a modal, and radio buttons. */
const MAX = { text: 3000, label: 75, value: 2000, parts: 48, blocks: 100, radios: 10 };
/** Ours for option buttons, and for all that a message and a modal show. */
const MAX_SHOWN = { options: 5, message: 12_000, modal: 100_000 };

/** What a button or modal is bound to: the request as it was shown, the fields that it fills in, and the message of a modal. */
export const Bound = z.object({
  userId: z.string(),
  id: z.string(),
  requestHash: z.string(),
  form: z.string().optional(),
  place: z.object({ channel: z.string(), ts: z.string() }).optional(),
});
export type Bound = z.output<typeof Bound>;

const texts = textsIn('en');
const plainText = (text: string) => ({ type: 'plain_text', text: escapeControls(text), emoji: false });
const section = (text: string) => ({ type: 'section', expand: true, text: plainText(text) });

/** Makes text a line that is short enough when it is escaped. */
function toLabel(text: string, length = MAX.label): string {
  const cut = truncate(toLine(showHidden(text)), length);
  return escapeControls(cut).length <= MAX.label ? cut : toLabel(text, length - 1);
}

type Button = { label: string; form?: string; opensModal?: boolean; style?: 'primary' | 'danger' };

/** Whether the button of an action answers. Others open a modal. */
export const isAnswer = (action: string): boolean => action.startsWith('answer');

/**
 * Creates the blocks of a message about an open request; `undefined` if it has no buttons. A button answers only if everything is
 * shown that the task sent.
 */
export function createBlocks(message: Message, { notification, requestHash }: Asked): object[] | undefined {
  const { userId, id } = notification;
  const parts = listParts(notification, MAX_SHOWN.message) ?? [];
  const isWhole = parts.length > 0 && parts.length <= MAX.parts;
  const buttons = listButtons(notification, isWhole).map(({ label, form, opensModal, style }, index) => ({
    type: 'button',
    action_id: `${opensModal ? 'open' : 'answer'}-${index}`,
    text: plainText(label),
    value: JSON.stringify({ userId, id, requestHash, form } satisfies Bound),
    style,
  }));
  const fits = buttons.length > 0 && buttons.every(({ value }) => value.length <= MAX.value);
  const shown = fits && buttons.some(({ action_id }) => isAnswer(action_id)) ? parts : [];
  const text = formatMessage(shown.length > 0 ? { ...message, details: null } : message);
  if (text.length > MAX.text || !(fits || message.url)) return undefined;
  const review = { type: 'button', action_id: 'review', text: plainText(texts('review')), url: message.url };
  const head = { type: 'section', expand: true, text: { type: 'mrkdwn', text, verbatim: true } };
  return [head, ...shown.map(section), { type: 'actions', elements: fits ? buttons : [review] }];
}

/** Lists the buttons of a request; none if it is answered in the web app. `isWhole` is whether a message shows all of it. */
function listButtons(notification: Notification, isWhole: boolean): Button[] {
  if (notification.kind === 'plan_requested') {
    const buttons: Button[] = [
      { label: texts('approve'), form: 'choice-0=0', style: 'primary' },
      { label: texts('request_changes'), form: 'choice-0=1', opensModal: true },
      { label: texts('reject'), form: 'choice-0=2', style: 'danger' },
    ];
    return isWhole ? buttons : [];
  }
  const [prompt, ...others] = listPrompts(texts, notification);
  // The last choice is a text.
  const labels = prompt?.choices.slice(0, -1).map(({ label }) => toLabel(label)) ?? [];
  if (others.length > 0 || prompt?.isMultiple || labels.length === 0 || labels.length > MAX_SHOWN.options)
    return createModal(notification, '') ? [{ label: texts('answer'), opensModal: true }] : [];
  const areClear = new Set(labels).size === labels.length && !labels.includes('');
  const options = labels.map((label, index) => ({ label, form: `choice-0=${index}` }));
  return isWhole && areClear ? [...options, { label: texts('other'), opensModal: true }] : [];
}

/**
 * Lists everything that the task sent: the plan or each question, then the rest; `undefined` if not all of it is shown. The
 * chat shows no previews, which can be the input of a tool, and nothing of a task token that could be a link: broken up, it
 * would look like another text.
 */
function listParts(notification: Notification, max: number): string[] | undefined {
  // A reply approves nothing.
  if (notification.kind === 'task_response_ready') return [];
  const prompts = notification.kind === 'question_requested' ? listPrompts(texts, notification) : [];
  const values = listValues(notification).map(({ name, text }) => `${name}:\n${text}`);
  const sent = [...prompts.map(describePrompt), ...values];
  const hasPreview = prompts.some(({ choices }) => choices.some(({ preview }) => preview));
  const couldLink = notification.byTask && sent.some((text) => breakLinks(text) !== text);
  const shown = sent.map((text) => showHidden(text).trim() || '(empty)');
  const lengths = shown.map((text) => escapeControls(text).length);
  const fits = Math.max(0, ...lengths) <= MAX.text && lengths.reduce((sum, length) => sum + length, 0) <= max;
  return fits && !hasPreview && !couldLink ? shown : undefined;
}

function describePrompt({ legend, choices }: Prompt): string {
  const options = choices.map(({ label, description }, index) =>
    [`${index + 1}. ${label}`, description].filter(Boolean).join('\n'),
  );
  return [legend, ...options].join('\n\n');
}

/** Creates the modal that asks for everything, or for the changes of a plan; `undefined` if it does not fit. */
export function createModal(notification: Notification, metadata: string): object | undefined {
  const isForPlan = notification.kind === 'plan_requested';
  const changes = { legend: '', choices: [], isMultiple: false, textLabel: texts('changes') };
  const prompts = isForPlan ? [changes] : listPrompts(texts, notification);
  const parts = isForPlan ? [] : listParts(notification, MAX_SHOWN.modal);
  const blocks = [
    ...(parts?.slice(prompts.length).map(section) ?? []),
    ...prompts.flatMap((prompt, index) => [
      ...(parts?.slice(index, index + 1).map(section) ?? []),
      ...createInputs(prompt, index),
    ]),
  ];
  const areFew = blocks.length <= MAX.blocks && prompts.every(({ choices }) => choices.length <= MAX.radios);
  if (parts === undefined || blocks.length === 0 || !areFew || metadata.length > MAX.text) return undefined;
  return { ...createNotice(''), submit: plainText(texts('send')), private_metadata: metadata, blocks };
}

function createInputs({ choices, isMultiple, textLabel }: Prompt, index: number): object[] {
  const { choice, text } = fieldsOf(index);
  const options = choices.map(({ label }, value) => ({
    text: plainText(toLabel(`${value + 1}. ${label}`)),
    value: String(value),
  }));
  const input = (block_id: string, optional: boolean, label: string, element: object) => ({
    type: 'input',
    block_id,
    optional,
    label: plainText(label),
    element: { action_id: block_id, ...element },
  });
  const type = isMultiple ? 'checkboxes' : 'radio_buttons';
  const chooser = input(choice, isMultiple, texts(isMultiple ? 'some' : 'one'), { type, options });
  const field = { type: 'plain_text_input', multiline: true, max_length: MAX.text };
  return [...(options.length > 0 ? [chooser] : []), input(text, options.length > 0, textLabel, field)];
}

/** Creates a modal that says one thing. */
export const createNotice = (text: string) => ({
  type: 'modal',
  title: plainText(texts('answer')),
  close: plainText(texts('close')),
  blocks: [section(text)],
});
