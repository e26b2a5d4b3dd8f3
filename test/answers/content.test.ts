import fc from 'fast-check';
import { expect, test } from 'vitest';
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
const failure = result('task_failed', 'errored');

const options = [{ label: 'A' }, { label: 'B' }, { label: 'C' }];
const one: AskUserQuestion = { question: 'Which?', options };
const many: AskUserQuestion = { question: 'Which ones?', options, multiSelect: true };

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
const choose = (index: number, options: number[], other: string | null = null) => ({ index, options, other });
const answerWith = (...questions: ReturnType<typeof choose>[]): GivenAnswer => ({ questions });
const decideWith = (feedback: string | null): GivenAnswer => ({ plan: { decision: 'approve', feedback } });
const replyWith = (text: string): GivenAnswer => ({ reply: { text } });

test.each<[Request, boolean]>([
  [plan, true],
  [ask(one), true],
  [response, true],
  [result('task_response_ready', 'errored'), false],
  [failure, false],
  [result('task_failed', 'awaiting_input'), false],
])('asksUser(%j) is %s', (request, expected) => expect(asksUser(request)).toBe(expected));

const emoji = '😀'.repeat(MAX_ANSWER_CHARACTERS);
const fits = (member: string) => `does not fit the request, which needs ${member}`;
const tooLong = 'must have at most 10,000 characters';
const leftOut = (indexes: string) => `questions: must answer every question; index ${indexes} is left out`;
const noIndex = 'is not the index of a question; there are 1';
const noOption = 'is not the index of an option; there are 3';

test.each<[what: string, request: Request, given: GivenAnswer, ...issues: string[]]>([
  ['the longest feedback', plan, decideWith(longest)],
  ['feedback of characters beyond the first plane', plan, decideWith(emoji)],
  ['an empty feedback', plan, decideWith('')],
  ['the longest reply', response, replyWith(longest)],
  ['nothing, if nothing is asked', ask(), answerWith()],
  ['a reply to a plan', plan, replyWith('Yes'), `reply: ${fits('plan')}`],
  ['questions to a plan', plan, answerWith(), `questions: ${fits('plan')}`],
  ['a decision to questions', ask(one), decideWith(null), `plan: ${fits('questions')}`],
  ['a decision to a response', response, decideWith(null), `plan: ${fits('reply')}`],
  ['a reply to a failure', failure, replyWith('Yes'), ': the notification asks for no answer'],
  ['too long a feedback', plan, decideWith(`${longest}.`), `plan.feedback: ${tooLong}`],
  ['a blank reply', response, replyWith(' \n\t '), 'reply.text: must not be blank'],
  ['too long a reply', response, replyWith(`${longest}.`), `reply.text: ${tooLong}`],
  [
    'an unknown question',
    ask(one),
    answerWith(choose(1, [0])),
    `questions.0.index: ${noIndex}`,
    leftOut('0'),
  ],
  ['a negative index', ask(one), answerWith(choose(-1, [0])), `questions.0.index: ${noIndex}`, leftOut('0')],
  ['some questions', ask(one, many, one), answerWith(choose(1, [0])), leftOut('0, 2')],
  ['one twice', ask(one), answerWith(choose(0, [0]), choose(0, [0])), 'questions.1.index: is repeated'],
  ['an unknown option', ask(one), answerWith(choose(0, [3])), `questions.0.options.0: ${noOption}`],
  ['a negative option', ask(many), answerWith(choose(0, [0, -1])), `questions.0.options.1: ${noOption}`],
  ['an option twice', ask(many), answerWith(choose(0, [1, 0, 1])), 'questions.0.options.2: is repeated'],
  [
    'two options where one is allowed',
    ask({ ...one, multiSelect: null }),
    answerWith(choose(0, [0, 1])),
    'questions.0.options: must have at most 1 item',
  ],
  [
    'a text beside the only option',
    ask(one),
    answerWith(choose(0, [0], 'Another')),
    'questions.0.other: must not be combined with an option',
  ],
  [
    'neither options nor a text',
    ask(many),
    answerWith(choose(0, [])),
    'questions.0.options: must have an item unless other is given',
  ],
  ['a blank text', ask(many), answerWith(choose(0, [1], ' ')), 'questions.0.other: must not be blank'],
  ['too long a text', ask(one), answerWith(choose(0, [], `${longest}.`)), `questions.0.other: ${tooLong}`],
])('an answer with %s is stored, or its broken rules are listed', (_what, request, given, ...issues) => {
  const found = listIssues(request, given);
  expect(found.map(({ path, message }) => `${path.slice(1).join('.')}: ${message}`)).toEqual(issues);
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
    fc.constantFrom(plan, response, failure),
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
