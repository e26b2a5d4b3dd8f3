import { z } from 'zod';

/* The blocks that the gateway uses, with the limits of Slack's reference ("Block Kit", "Views"). */

const text = (max: number, type: 'plain_text' | 'mrkdwn' = 'plain_text') =>
  z.looseObject({ type: z.literal(type), text: z.string().min(1).max(max) });

const Button = z.strictObject({
  type: z.literal('button'),
  action_id: z.string().min(1).max(255),
  text: text(75),
  value: z.string().max(2000).optional(),
  url: z.url().max(3000).optional(),
  style: z.enum(['primary', 'danger']).optional(),
});
const options = (max: number) =>
  z
    .array(z.strictObject({ text: text(75), value: z.string().min(1).max(150) }))
    .min(1)
    .max(max);
const Element = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('plain_text_input'),
    action_id: z.string(),
    multiline: z.literal(true),
    max_length: z.int().max(3000),
  }),
  z.strictObject({
    type: z.enum(['radio_buttons', 'checkboxes']),
    action_id: z.string(),
    options: options(10),
  }),
  z.strictObject({
    type: z.enum(['static_select', 'multi_static_select']),
    action_id: z.string(),
    options: options(100),
  }),
]);
const Input = z.strictObject({
  type: z.literal('input'),
  block_id: z.string().min(1).max(255),
  optional: z.boolean(),
  label: text(2000),
  element: Element,
});
const Section = z.strictObject({
  type: z.literal('section'),
  expand: z.boolean(),
  text: z.union([text(3000), text(3000, 'mrkdwn')]),
});
const Actions = z.strictObject({ type: z.literal('actions'), elements: z.array(Button).min(1).max(25) });

export const ModalShape = z.strictObject({
  type: z.literal('modal'),
  title: text(24),
  close: text(24),
  submit: text(24),
  private_metadata: z.string().max(3000),
  blocks: z
    .array(z.union([Section, Input]))
    .min(1)
    .max(100),
});
export type Modal = z.output<typeof ModalShape>;

const Message = z.array(z.union([Section, Actions]));

/** Returns what is wrong with the blocks of a message. */
export function findBlocksProblem(blocks: readonly object[], max: number): string | undefined {
  const { data, error } = Message.max(max).safeParse(blocks);
  if (error) return z.prettifyError(error);
  const actions = data.flatMap((block) =>
    block.type === 'actions' ? block.elements.map(({ action_id }) => action_id) : [],
  );
  return new Set(actions).size === actions.length ? undefined : 'An action_id is repeated.';
}

/** Returns what is wrong with a modal. */
export function findModalProblem(view: unknown): string | undefined {
  const { data, error } = ModalShape.safeParse(view);
  if (error) return z.prettifyError(error);
  const ids = data.blocks.flatMap((block) => (block.type === 'input' ? [block.block_id] : []));
  return new Set(ids).size === ids.length ? undefined : 'A block_id is repeated.';
}

/** Lists the buttons of a message. */
export function listButtons(blocks: readonly object[]): z.output<typeof Button>[] {
  return Message.parse(blocks).flatMap((block) => (block.type === 'actions' ? block.elements : []));
}

/** Lists the texts of sections, as they are shown. */
export function listTexts(blocks: readonly object[]): string[] {
  const shown = z.array(z.union([Section, Actions, Input])).parse(blocks);
  return shown.flatMap((block) =>
    block.type === 'section'
      ? [block.text.text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')]
      : [],
  );
}
