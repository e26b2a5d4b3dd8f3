import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBlocks, createModal } from '../../src/delivery/chat/chat-blocks.ts';
import type { Notification } from '../../src/notifications/notification.entity.ts';
import { showHidden } from '../../src/values/text.ts';
import { message } from '../delivery/providers.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { listButtons, listTexts, MessageShape, ModalShape } from '../support/block-kit.ts';
import type { ChatMessage } from '../support/chat-api.ts';
import { putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { dismiss } from '../support/inbox.ts';
import { resolve } from '../support/records.ts';
import { answer, answers, readNotification } from '../support/requests.ts';
import {
  awaitMessage,
  click,
  createSubmission,
  interact,
  lastModal,
  memberOf,
  publishInChat,
  type SlackGateway,
  startSlackGateway,
} from '../support/slack.ts';
import { signTaskToken } from '../support/tokens.ts';

let gateway: SlackGateway;
beforeAll(async () => {
  gateway = await startSlackGateway();
});
afterAll(() => gateway.close());

const read = async (userId: string, id: string) => (await readNotification(gateway, userId, id)).request;
const labelsOf = ({ blocks }: ChatMessage) => listButtons(blocks).map(({ text }) => text.text);
const planOf = (input: object) => ({ payload: { planRequested: { toolId: 't', input } } });
const questionsOf = (questions: object[], others = {}) => ({
  payload: { questionRequested: { toolId: 't', input: { questions, ...others } } },
});
/** The messages that only a member sees, as plain text. */
const ephemerals = (userId: string) =>
  gateway.chat.ephemerals
    .filter(({ user }) => user === memberOf(userId))
    .map(({ text, blocks }) => {
      expect(blocks).toMatchObject([{ text: { type: 'plain_text', text } }]);
      return text;
    });

/** Publishes by the token of a task. */
async function publishByTask(userId: string, payload: object) {
  await putContact(gateway, userId, { chatMemberId: memberOf(userId) });
  const runner = gateway.as(() => signTaskToken(userId, 't'));
  const task = { id: 't', projectId: 'p' };
  const { id } = (await runner.publish({ userId, title: 'A title', task, payload })).notification;
  return { id, message: await awaitMessage(gateway, userId, id) };
}

describe('a plan', () => {
  test('that fits is shown whole, and approved by its button', async () => {
    const input = {
      summary: 'In *short* <!channel>',
      plan: '1. Do it\n```\ncode\n```',
      files: ['a.ts'],
      risk: 'none & all',
    };
    const { id, message } = await publishInChat(gateway, 'alice', 'plan_requested', planOf(input));
    expect(listTexts(message.blocks).slice(1)).toEqual([
      `summary:\n${input.summary}`,
      `plan:\n${input.plan}`,
      'files:\n[\n  "a.ts"\n]',
      'risk:\nnone & all',
    ]);
    expect(labelsOf(message)).toEqual(['Approve', 'Request changes', 'Reject']);
    expect(await click(gateway, message, 'Approve')).toEqual({ status: 200, body: undefined });
    expect(await read('alice', id)).toMatchObject({
      state: 'ANSWERED',
      answer: { via: 'CHAT', by: 'alice', plan: { decision: 'APPROVE', feedback: null } },
    });
    const settled = 'Answered: Approve (alice, in the chat)';
    await eventually(() => expect(ephemerals('alice')).toEqual([settled]));
    // The message tells everyone who sees it.
    await eventually(() => expect(message.updates.at(-1)).toContain(settled));
    expect(message.blocks).toEqual([]);
  });

  test('is sent back with what should change, from a modal', async () => {
    const { id, message } = await publishInChat(gateway, 'changes');
    await click(gateway, message, 'Request changes');
    const modal = lastModal(gateway);
    expect(modal.blocks).toMatchObject([{ type: 'input', block_id: 'text-0', optional: false }]);
    const { body } = await interact(gateway, createSubmission('changes', modal, { 'text-0': 'Test it' }));
    expect(body).toMatchObject({
      response_action: 'update',
      view: { blocks: [{ text: { text: 'Answered: Request changes: Test it (changes, in the chat)' } }] },
    });
    expect(await read('changes', id)).toMatchObject({
      answer: { via: 'CHAT', plan: { decision: 'REQUEST_CHANGES', feedback: 'Test it' } },
    });
  });

  const repeat = (count: number, text: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, text]));
  test.each([
    ['its plan is too long', { plan: 'x'.repeat(3001) }],
    ['its plan is too long when it is escaped', { plan: '&'.repeat(601) }],
    ['all of it is too long', repeat(5, 'x'.repeat(2900))],
    ['it has too many parts', repeat(60, 'x')],
  ])('has only a link if %s', async (what, input) => {
    const userId = what.replaceAll(' ', '-');
    const shown = planOf({ summary: 's', plan: 'p', ...input });
    const { message } = await publishInChat(gateway, userId, 'plan_requested', shown);
    expect(listButtons(message.blocks)).toMatchObject([
      { text: { text: 'Review' }, url: expect.stringContaining('https://app.example.com/inbox/') },
    ]);
    expect(await click(gateway, message, 'Review')).toMatchObject({ status: 200 });
  });
});

describe('a question', () => {
  const long = (start: string, end = '') => `${start}${'x'.repeat(80)}${end}`;
  const toQuestion = (...labels: string[]) => ({
    question: 'Which?',
    options: labels.map((label) => ({ label, description: 'd' })),
  });
  const many = (count: number) => Array.from({ length: count }, (_, label) => `${label}`);
  const why = { question: 'Why?', options: [] };
  const other = 'Another answer';

  test.each<[what: string, questions: object[], labels: string[]]>([
    ['with few options', [toQuestion('A', 'B')], ['A', 'B', other]],
    [
      'with long labels',
      [toQuestion(long('a'), long('b'))],
      [`a${'x'.repeat(73)}…`, `b${'x'.repeat(73)}…`, other],
    ],
    ['with labels that are equal when cut', [toQuestion(long('', 'a'), long('', 'b'))], ['Review']],
    ['with a blank label', [toQuestion(' ', 'b')], ['Review']],
    ['that does not fit', [{ ...toQuestion('A'), question: 'x'.repeat(3000) }], ['Review']],
    ['with six options', [toQuestion(...many(6))], ['Answer']],
    ['with several choices', [{ ...toQuestion('A'), multiSelect: true }], ['Answer']],
    ['without options', [why], ['Answer']],
    ['and another', [toQuestion('A'), why], ['Answer']],
    ['with eleven options', [toQuestion(...many(11))], ['Review']],
    ['that no modal can show', [{ question: 'x'.repeat(3001), options: [] }], ['Review']],
    ['of none', [], ['Review']],
    [
      'with a preview',
      [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B', preview: 'b' }] }],
      ['Review'],
    ],
    [
      'and another with a preview',
      [why, { question: 'Which?', options: [{ label: 'A', preview: 'a' }] }],
      ['Review'],
    ],
    ['of 50 with options', Array(50).fill(toQuestion('A')), ['Review']],
  ])('%s', async (what, questions, labels) => {
    const userId = `asks-${what.replaceAll(' ', '-')}`;
    const { message } = await publishInChat(gateway, userId, 'question_requested', questionsOf(questions));
    expect(labelsOf(message)).toEqual(labels);
    if (labels[0] === 'Answer') await click(gateway, message, 'Answer');
  });

  test('is answered by the button of an option, and otherwise from a modal', async () => {
    const asked = questionsOf([{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }], {
      context: 'More',
    });
    const first = await publishInChat(gateway, 'buttons', 'question_requested', asked);
    expect(listTexts(first.message.blocks).slice(1)).toEqual([
      'Which?\n\n1. A\n\n2. B\n\n3. Another answer',
      'context:\nMore',
    ]);
    await click(gateway, first.message, 'B');
    expect(await read('buttons', first.id)).toMatchObject({
      answer: { via: 'CHAT', questions: [{ options: [1], labels: ['B'], other: null }] },
    });

    const second = await publishInChat(gateway, 'buttons', 'question_requested', asked);
    await click(gateway, second.message, 'Another answer');
    const modal = lastModal(gateway);
    const send = async (entries: Record<string, string>) =>
      (await interact(gateway, createSubmission('buttons', modal, entries))).body;
    expect(await send({ 'choice-0': '0', 'text-0': 'C' })).toMatchObject({
      response_action: 'errors',
      errors: { 'text-0': expect.stringContaining('was not stored') },
    });
    expect((await read('buttons', second.id)).state).toBe('OPEN');
    expect(await send({ 'choice-0': '2', 'text-0': 'C' })).toMatchObject({ response_action: 'update' });
    expect(await read('buttons', second.id)).toMatchObject({
      answer: { questions: [{ options: [], other: 'C' }] },
    });
  });

  test('of several is answered from one modal with all of them', async () => {
    const asked = questionsOf([
      toQuestion('A', 'B'),
      { ...toQuestion('A', 'B', 'C'), multiSelect: true },
      why,
    ]);
    const { id, message } = await publishInChat(gateway, 'modal', 'question_requested', asked);
    await click(gateway, message, 'Answer');
    const modal = lastModal(gateway);
    expect(listTexts(modal.blocks)[0]).toBe('Which?\n\n1. A\nd\n\n2. B\nd\n\n3. Another answer');
    expect(
      modal.blocks.filter((block) => 'block_id' in block && block.block_id.startsWith('choice')),
    ).toMatchObject([
      { label: { text: 'Choose one.' }, optional: false, element: { type: 'radio_buttons' } },
      { label: { text: 'Choose one or more.' }, optional: true, element: { type: 'checkboxes' } },
    ]);
    const entries = { 'choice-0': '1', 'choice-1': ['2', '0'], 'text-1': 'E', 'text-2': 'So' };
    await interact(gateway, createSubmission('modal', modal, entries));
    const { answer: stored } = await read('modal', id);
    expect(
      stored.questions.map(({ options, other }: { options: number[]; other: string }) => [options, other]),
    ).toEqual([
      [[1], null],
      [[0, 2], 'E'],
      [[], 'So'],
    ]);
  });
});

describe('a request of a task token', () => {
  /* Broken up, a text with what could be a link looks like another one, which would be approved in its place. */
  const question = (...texts: string[]) => ({
    question: 'Which?',
    options: texts.map((label) => ({ label })),
  });
  const decisions = ['Approve', 'Request changes', 'Reject'];
  test.each<[what: string, given: { payload: object }, labels: string[]]>([
    ['a plan', planOf({ summary: 's', plan: 'rm -rf /srv/data. old' }), decisions],
    ['a plan with what could be a link', planOf({ summary: 's', plan: 'rm -rf /srv/data.old' }), ['Review']],
    [
      'a plan with what could be a link in a list',
      planOf({ summary: 's', plan: 'p', files: ['data.old'] }),
      ['Review'],
    ],
    [
      'a plan with what could be a link as a name',
      planOf({ summary: 's', plan: 'p', 'data.old': '' }),
      ['Review'],
    ],
    ['a question', questionsOf([question('data. old', 'None')]), ['data. old', 'None', 'Another answer']],
    ['a question with what could be a link', questionsOf([question('data.old', 'None')]), ['Review']],
    ['several questions', questionsOf([question('data. old'), question()]), ['Answer']],
    [
      'several questions with what could be a link',
      questionsOf([question('data.old'), question()]),
      ['Review'],
    ],
  ])('is answered where it is shown as it was sent: %s', async (what, { payload }, labels) => {
    const { message } = await publishByTask(`by-task-${what.replaceAll(' ', '-')}`, payload);
    expect(labelsOf(message)).toEqual(labels);
    expect(JSON.stringify(message)).not.toContain('data.old');
  });

  test('that was answered shows no link and nothing hidden that was chosen', async () => {
    const label = 'Sign in: https://evil.example/\u202etxt';
    const linking = await publishByTask('links', questionsOf([question(label, 'None')]).payload);
    await answer(gateway, 'links', { id: linking.id, questions: [{ index: 0, options: [0] }] });
    await eventually(() =>
      expect(linking.message.updates).toEqual([
        expect.stringContaining('Answered: Sign in: https: // evil. example/[U+202E]txt (links, '),
      ]),
    );

    const hiding = await publishByTask('hides', questionsOf([question('No\u202etxt', 'None')]).payload);
    await click(gateway, hiding.message, 'No[U+202E]txt');
    const settled = 'Answered: No[U+202E]txt (hides, in the chat)';
    await eventually(() => expect(ephemerals('hides')).toEqual([settled]));
    await eventually(() => expect(hiding.message.updates).toEqual([expect.stringContaining(settled)]));
  });
});

test('a reply is given from a modal', async () => {
  const { id, message } = await publishInChat(gateway, 'replies', 'task_response_ready');
  await click(gateway, message, 'Answer');
  await interact(gateway, createSubmission('replies', lastModal(gateway), { 'text-0': 'Go on' }));
  expect(await read('replies', id)).toMatchObject({ answer: { via: 'CHAT', reply: { text: 'Go on' } } });
});

test('a repeated click joins, and another one receives the winner', async () => {
  const { id, message } = await publishInChat(gateway, 'repeats');
  const old = { ...message, blocks: message.blocks };
  for (const label of ['Approve', 'Approve', 'Reject']) await click(gateway, old, label);
  const winner = 'Answered: Approve (repeats, in the chat)';
  await eventually(() =>
    expect(ephemerals('repeats')).toEqual([
      winner,
      winner,
      `This was settled before. What you sent was not stored. ${winner}`,
    ]),
  );
  expect(await read('repeats', id)).toMatchObject({ answer: { plan: { decision: 'APPROVE' } } });
});

type Settle = (userId: string, id: string) => Promise<unknown>;
const wait: Settle = async () => undefined;
const nobody = 'Nobody approved or refused anything.';
test.each<[what: string, input: Record<string, unknown>, settle: Settle, text: string]>([
  [
    'answered in an app',
    {},
    (userId, id) => answer(gateway, userId, { id, ...answers.reject }),
    'Answered: Reject: Too large (',
  ],
  ['expired', { expiresInSeconds: 2 }, wait, `Expired without an answer. ${nobody}`],
  [
    'expired with a default',
    { expiresInSeconds: 2, onExpiry: answers.approve },
    wait,
    'Answered: Approve (automatically, when the time is up)',
  ],
  [
    'withdrawn',
    { task: { id: 'gone', projectId: 'p' } },
    (userId) => resolve(gateway, userId, 'gone'),
    'Withdrawn: the task needs no answer. Nobody',
  ],
  [
    'dismissed',
    {},
    (userId, id) => dismiss(gateway, userId, [id]),
    'Done: this no longer needs your attention.',
  ],
])('a message shows that its request was %s', async (what, input, settle, text) => {
  const userId = `late-${what.replaceAll(' ', '-')}`;
  const { id, message } = await publishInChat(gateway, userId, 'plan_requested', input);
  const old = { ...message, blocks: message.blocks };
  await settle(userId, id);
  await eventually(() => expect(message.updates.at(-1)).toContain(text));
  expect(message.blocks).toEqual([]);
  await click(gateway, old, 'Approve');
  // A dismissed request is still open.
  if (what !== 'dismissed')
    await eventually(() =>
      expect(ephemerals(userId)).toEqual([expect.stringContaining(`was not stored. ${text}`)]),
    );
});

describe('blocks and modals', () => {
  const anyText = fc.oneof(
    fc.string({ unit: arbitraryCharacter, maxLength: 200 }),
    fc
      .array(fc.constantFrom('<!channel>', '&', '\u202e', '\0', '\n', '😀', 'x'.repeat(700), ' '), {
        maxLength: 6,
      })
      .map((parts) => parts.join('')),
  );
  const anyOption = fc.record({
    label: anyText,
    description: anyText,
    preview: fc.option(anyText, { nil: undefined }),
  });
  const anyQuestion = fc.record({
    question: anyText,
    options: fc.array(anyOption, { maxLength: 12 }),
    multiSelect: fc.boolean(),
  });
  /** Members that a task adds, some with names that the gateway knows. */
  const known = ['questions', 'options', 'summary', 'plan', 'Summary', 'input', 'message', 'toolId', ''];
  const anyMembers = fc.dictionary(
    fc.oneof(fc.constantFrom(...known), anyText),
    fc.oneof(anyText, fc.array(anyText, { maxLength: 2 })),
    { maxKeys: 4 },
  );
  const anyContent = fc.oneof(
    fc.record({
      kind: fc.constant('plan_requested' as const),
      payload: fc.record({
        toolId: fc.constant('t'),
        input: fc
          .tuple(anyMembers, fc.record({ summary: anyText, plan: anyText }))
          .map(([more, input]) => ({ ...more, ...input })),
      }),
    }),
    fc.record({
      kind: fc.constant('question_requested' as const),
      payload: fc.record({
        toolId: fc.constant('t'),
        input: fc
          .tuple(anyMembers, fc.record({ questions: fc.array(anyQuestion, { maxLength: 4 }) }))
          .map(([more, input]) => ({ ...more, ...input })),
      }),
    }),
  );
  test('keep the limits of Slack, and a button answers only where everything is shown', () => {
    fc.assert(
      fc.property(
        anyContent,
        fc.string({ maxLength: 255 }),
        fc.boolean(),
        ({ kind, payload }, id, byTask) => {
          const notification: Notification = {
            userId: 'alice',
            id,
            kind,
            payload,
            byTask,
            title: 'A title',
            taskId: 't',
            projectId: 'p',
            taskName: null,
            projectName: null,
            projectRepoUrl: null,
            workspaceId: null,
            previewText: null,
            prUrl: null,
            revision: 1,
            status: 'active',
            resolution: null,
            toolId: 't',
            skippedChannels: 0,
            slot: '',
            requestState: 'open',
            expiresAt: null,
            expiresInSeconds: null,
            onExpiry: null,
            answer: null,
            receipt: null,
            occurredAt: message.occurredAt,
            createdAt: message.occurredAt,
            updatedAt: message.occurredAt,
            resolvedAt: null,
            dismissedAt: null,
          };
          const blocks =
            createBlocks(message, { notification, requestHash: 'x'.repeat(43) }) ?? expect.unreachable();
          const sent: object[] = JSON.parse(JSON.stringify(blocks));
          MessageShape.parse(sent);
          const modal = createModal(notification, 'x'.repeat(2000));
          if (modal) ModalShape.parse(JSON.parse(JSON.stringify(modal)));
          if (!listButtons(sent).some(({ action_id }) => action_id.startsWith('answer'))) return;
          const shown = listTexts(sent).join('\n');
          expect(shown).not.toContain('\u202e');
          const questions = kind === 'question_requested' ? payload.input.questions : [];
          const wanted = [
            ...questions.flatMap(({ question, options }) => [
              question,
              ...options.flatMap(({ label, description }) => [label, description]),
            ]),
            ...Object.entries(payload.input)
              .filter(([name]) => kind === 'plan_requested' || name !== 'questions')
              .map(([name, value]) => `${name}:${typeof value === 'string' ? value : JSON.stringify(value)}`),
          ];
          const strip = (text: string) => showHidden(text).replaceAll(/\s/g, '');
          for (const text of wanted) expect(strip(shown)).toContain(strip(text));
          expect(questions.some(({ options }) => options.some(({ preview }) => preview))).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });
});
