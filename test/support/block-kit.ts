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

const unique = (ids: readonly string[]) => new Set(ids).size === ids.length;

export const ModalShape = z.strictObject({
  type: z.literal('modal'),
  title: text(24),
  close: text(24),
  submit: text(24),
  private_metadata: z.string().max(3000),
  blocks: z
    .array(z.union([Section, Input]))
    .min(1)
    .max(100)
    .refine(
      (blocks) => unique(blocks.flatMap((block) => (block.type === 'input' ? block.block_id : []))),
      'A block_id is repeated.',
    ),
});
export type Modal = z.output<typeof ModalShape>;

/** The blocks of a message. */
export const MessageShape = z
  .array(z.union([Section, Actions]))
  .max(50)
  .refine(
    (blocks) => unique(findButtons(blocks).map(({ action_id }) => action_id)),
    'An action_id is repeated.',
  );

function findButtons(blocks: readonly (z.output<typeof Section> | z.output<typeof Actions>)[]) {
  return blocks.flatMap((block) => (block.type === 'actions' ? block.elements : []));
}

/** Lists the buttons of a message. */
export const listButtons = (blocks: readonly object[]) => findButtons(MessageShape.parse(blocks));

/** Lists the texts of sections, as they are shown. */
export function listTexts(blocks: readonly object[]): string[] {
  const shown = z.array(z.union([Section, Actions, Input])).parse(blocks);
  return shown.flatMap((block) =>
    block.type === 'section'
      ? [block.text.text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')]
      : [],
  );
}
