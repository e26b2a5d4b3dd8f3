import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ValidationError } from '../../src/errors/gateway-errors.ts';
import type { ValidationIssue } from '../../src/errors/issue.ts';
import {
  asksUser,
  type GivenAnswer,
  isSameContent,
  MAX_ANSWER_CHARACTERS,
  toAnswerContent,
} from '../../src/notifications/answers/answer.ts';
import type { NotificationKind } from '../../src/notifications/notification.enums.ts';
import type { AskUserQuestion, NotificationPayload } from '../../src/notifications/payload.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';

type Request = { kind: NotificationKind; payload: NotificationPayload };

const plan: Request = {
  kind: 'plan_requested',
  payload: { toolId: 't', input: { summary: 'S', plan: 'P' } },
};
const ask = (...questions: AskUserQuestion[]): Request => ({
  kind: 'question_requested',
  payload: { toolId: 't', input: { questions } },
});
const result = (kind: NotificationKind, taskStatus: 'awaiting_input' | 'errored'): Request => ({
  kind,
  payload: { taskStatus, message: null, messageLabel: null, messageTimestamp: null },
});
const response = result('task_response_ready', 'awaiting_input');

const options = [{ label: 'A' }, { label: 'B' }, { label: 'C' }];
const one: AskUserQuestion = { question: 'Which?', options };
const many: AskUserQuestion = { question: 'Which ones?', options, multiSelect: true };

/** Returns the broken rules of an answer, as `path: message`. */
function findIssues(request: Request, given: GivenAnswer): string[] {
  return listIssues(request, given).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

function listIssues(request: Request, given: GivenAnswer): readonly ValidationIssue[] {
  try {
    toAnswerContent(request, given, ['input']);
    return [];
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    return error.issues;
  }
}

const longest = 'ü'.repeat(MAX_ANSWER_CHARACTERS);
const answerQuestion = (index: number, chosen: number[], other: string | null = null) => ({
  questions: [{ index, options: chosen, other }],
});

test.each<[Request, boolean]>([
  [plan, true],
  [ask(one), true],
  [response, true],
  [result('task_response_ready', 'errored'), false],
  [result('task_failed', 'errored'), false],
  [result('task_failed', 'awaiting_input'), false],
])('asksUser(%j) is %s', (request, expected) => expect(asksUser(request)).toBe(expected));

describe('an answer that fits', () => {
  test.each<[string, Request, GivenAnswer]>([
    ['a decision', plan, { plan: { decision: 'approve', feedback: null } }],
    ['a decision with an empty feedback', plan, { plan: { decision: 'reject', feedback: '' } }],
    ['the longest feedback', plan, { plan: { decision: 'request_changes', feedback: longest } }],
    [
      'feedback of characters beyond the first plane',
      plan,
      { plan: { decision: 'reject', feedback: '😀'.repeat(MAX_ANSWER_CHARACTERS) } },
    ],
    ['a reply', response, { reply: { text: '.' } }],
    ['the longest reply', response, { reply: { text: longest } }],
    ['an option', ask(one), answerQuestion(0, [2])],
    ['other instead of an option', ask(one), answerQuestion(0, [], 'Another')],
    ['several options with multiSelect', ask(many), answerQuestion(0, [2, 0])],
    ['options and other with multiSelect', ask(many), answerQuestion(0, [1], 'Another')],
    [
      'other of a question without options',
      ask({ question: 'Why?', options: [] }),
      answerQuestion(0, [], '!'),
    ],
    ['nothing, if nothing is asked', ask(), { questions: [] }],
  ])('%s', (_what, request, given) => expect(findIssues(request, given)).toEqual([]));
});

describe('an answer that does not fit', () => {
  const fits = (member: string) => `does not fit the request, which needs ${member}`;
  const tooLong = 'must have at most 10,000 characters';
  test.each<[string, Request, GivenAnswer, string[]]>([
    ['a reply to a plan', plan, { reply: { text: 'Yes' } }, [`input.reply: ${fits('plan')}`]],
    ['questions to a plan', plan, { questions: [] }, [`input.questions: ${fits('plan')}`]],
    [
      'a decision to questions',
      ask(one),
      { plan: { decision: 'approve', feedback: null } },
      [`input.plan: ${fits('questions')}`],
    ],
    [
      'a decision to a response',
      response,
      { plan: { decision: 'approve', feedback: null } },
      [`input.plan: ${fits('reply')}`],
    ],
    [
      'a reply to a failure',
      result('task_failed', 'errored'),
      { reply: { text: 'Yes' } },
      ['input: the notification asks for no answer'],
    ],
    [
      'too long a feedback',
      plan,
      { plan: { decision: 'approve', feedback: `${longest}.` } },
      [`input.plan.feedback: ${tooLong}`],
    ],
    ['an empty reply', response, { reply: { text: '' } }, ['input.reply.text: must not be blank']],
    ['a blank reply', response, { reply: { text: ' \n\t ' } }, ['input.reply.text: must not be blank']],
    ['too long a reply', response, { reply: { text: `${longest}.` } }, [`input.reply.text: ${tooLong}`]],
    [
      'an unknown question',
      ask(one),
      answerQuestion(1, [0]),
      [
        'input.questions.0.index: is not the index of a question; there are 1',
        'input.questions: must answer every question; index 0 is left out',
      ],
    ],
    [
      'a negative index',
      ask(one),
      answerQuestion(-1, [0]),
      [
        'input.questions.0.index: is not the index of a question; there are 1',
        'input.questions: must answer every question; index 0 is left out',
      ],
    ],
    [
      'no question',
      ask(one, many),
      { questions: [] },
      ['input.questions: must answer every question; index 0, 1 is left out'],
    ],
    [
      'a question that was left out',
      ask(one, many, one),
      { questions: [{ index: 1, options: [0], other: null }] },
      ['input.questions: must answer every question; index 0, 2 is left out'],
    ],
    [
      'a repeated question',
      ask(one),
      {
        questions: [
          { index: 0, options: [0], other: null },
          { index: 0, options: [0], other: null },
        ],
      },
      ['input.questions.1.index: is repeated'],
    ],
    [
      'an unknown option',
      ask(one),
      answerQuestion(0, [3]),
      ['input.questions.0.options.0: is not the index of an option; there are 3'],
    ],
    [
      'a negative option',
      ask(many),
      answerQuestion(0, [0, -1]),
      ['input.questions.0.options.1: is not the index of an option; there are 3'],
    ],
    [
      'a repeated option',
      ask(many),
      answerQuestion(0, [1, 0, 1]),
      ['input.questions.0.options.2: is repeated'],
    ],
    [
      'two options without multiSelect',
      ask(one),
      answerQuestion(0, [0, 1]),
      ['input.questions.0.options: must have at most 1 item'],
    ],
    [
      'two options with multiSelect null',
      ask({ ...one, multiSelect: null }),
      answerQuestion(0, [0, 1]),
      ['input.questions.0.options: must have at most 1 item'],
    ],
    [
      'other beside an option without multiSelect',
      ask(one),
      answerQuestion(0, [0], 'Another'),
      ['input.questions.0.other: must not be combined with an option'],
    ],
    [
      'neither options nor other',
      ask(many),
      answerQuestion(0, []),
      ['input.questions.0.options: must have an item unless other is given'],
    ],
    ['a blank other', ask(many), answerQuestion(0, [1], ' '), ['input.questions.0.other: must not be blank']],
    [
      'too long an other',
      ask(one),
      answerQuestion(0, [], `${longest}.`),
      [`input.questions.0.other: ${tooLong}`],
    ],
  ])('%s', (_what, request, given, issues) => expect(findIssues(request, given)).toEqual(issues));
});

const text = fc.string({ unit: arbitraryCharacter, minLength: 1, maxLength: 20 }).map((one) => `.${one}`);
const arbitraryQuestion: fc.Arbitrary<AskUserQuestion> = fc.record({
  question: text,
  options: fc.array(fc.record({ label: text }), { maxLength: 5 }),
  multiSelect: fc.constantFrom(undefined, null, false, true),
});

/** An answer to a question that breaks no rule. */
const arbitraryChoice = ({ options: offered, multiSelect }: AskUserQuestion) => {
  const other = text.map((given) => ({ options: [] as number[], other: given }));
  if (offered.length === 0) return other;
  const chosen = fc
    .shuffledSubarray([...offered.keys()], { minLength: 1, maxLength: multiSelect ? offered.length : 1 })
    .chain((indexes) =>
      fc.option(multiSelect ? text : fc.constant(null)).map((given) => ({ options: indexes, other: given })),
    );
  return fc.oneof(chosen, other);
};

const arbitraryAnswered = fc.array(arbitraryQuestion, { minLength: 1, maxLength: 6 }).chain((questions) =>
  fc
    .tuple(...questions.map(arbitraryChoice))
    .map((choices) => choices.map((choice, index) => ({ index, ...choice })))
    .chain((given) =>
      fc.record({
        questions: fc.constant(questions),
        given: fc.shuffledSubarray(given, { minLength: given.length }),
      }),
    ),
);

test('any complete answer is stored in the order of the questions, with the labels of the options', () => {
  fc.assert(
    fc.property(arbitraryAnswered, ({ questions, given }) => {
      const content = toAnswerContent(ask(...questions), { questions: given }, []);

      expect(content).toEqual({
        questions: questions.map(({ question, options: offered }, index) => {
          const answered = given.find((answer) => answer.index === index);
          return {
            ...answered,
            question,
            labels: answered?.options.map((option) => offered[option]?.label),
          };
        }),
      });
    }),
  );
});

test('what is stored has the same content as what was given, and no other', () => {
  fc.assert(
    fc.property(arbitraryAnswered, fc.nat(), text, ({ questions, given }, place, added) => {
      const stored = toAnswerContent(ask(...questions), { questions: given }, []);
      const reversed = given
        .toReversed()
        .map((answer) => ({ ...answer, options: answer.options.toReversed() }));
      expect(isSameContent(stored, { questions: given })).toBe(true);
      expect(isSameContent(stored, { questions: reversed })).toBe(true);
      expect(isSameContent(JSON.parse(JSON.stringify(stored)), { questions: given })).toBe(true);

      const position = place % given.length;
      const changed = given.map((answer, index) =>
        index === position ? { ...answer, other: `${answer.other ?? ''}${added}` } : answer,
      );
      expect(isSameContent(stored, { questions: changed })).toBe(false);
      expect(isSameContent(stored, { questions: given.slice(1) })).toBe(false);
      expect(isSameContent(stored, { reply: { text: added } })).toBe(false);
      expect(isSameContent(stored, { plan: { decision: 'approve', feedback: added } })).toBe(false);
    }),
  );
});

test('whatever is given, an answer is stored or its broken rules are listed, each inside the answer', () => {
  const index = fc.oneof(fc.nat(6), fc.integer());
  const anything: fc.Arbitrary<GivenAnswer> = fc.oneof(
    fc.record({
      plan: fc.record({
        decision: fc.constantFrom('approve', 'request_changes', 'reject'),
        feedback: fc.option(fc.string()),
      }),
    }),
    fc.record({ reply: fc.record({ text: fc.string() }) }),
    fc.record({
      questions: fc.array(
        fc.record({ index, options: fc.array(index, { maxLength: 4 }), other: fc.option(fc.string()) }),
        { maxLength: 8 },
      ),
    }),
  );
  const requests = fc.oneof(
    fc.constantFrom(plan, response, result('task_failed', 'errored')),
    fc.array(arbitraryQuestion, { maxLength: 6 }).map((questions) => ask(...questions)),
  );
  fc.assert(
    fc.property(requests, anything, (request, given) => {
      for (const { path, value } of listIssues(request, given)) {
        const found = path.slice(1).reduce((at: unknown, name) => Reflect.get(Object(at), name), given);
        expect(value).toEqual(found);
      }
    }),
  );
});
