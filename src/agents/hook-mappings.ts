import { z } from 'zod';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { AnswerContent } from '../notifications/answers/answer.ts';
import { checkShape, toTitle } from './agent-requests.ts';

/* What is read of the hooks of coding agents, and what is returned to them: one table for each agent. */

/** The decision about a tool call that an agent receives. */
export type Decision =
  | { behavior: 'allow'; updatedInput?: object; updatedPermissions?: readonly object[] }
  | { behavior: 'deny'; message: string };

/** A tool call, as a hook reports it. `suggestions`: the rules that would allow such calls. */
type HookCall = {
  tool: string;
  input: Readonly<Record<string, unknown>>;
  suggestions: readonly unknown[];
};

/** What the user is asked about a tool call. */
export type HookQuestion = {
  title: string;
  /** The member of the payload, as `publishNotification` names it, and its input. */
  kind: 'planRequested' | 'questionRequested';
  /** Whether it asks for permission: see approval.ts. */
  isPermission: boolean;
  shown: object;
  toDecision(answer: AnswerContent): Decision;
};

/** How calls of a tool are read. */
type ToolMapping = {
  /** Returns what the user is asked. @throws {ValidationError} if the call cannot be shown */
  ask(call: HookCall): HookQuestion;
  /** Returns what the inputs of a call have in common in all events: the others have more or less than the question. */
  identify(input: HookCall['input']): unknown;
};

/** How the hooks of an agent are read. Each call is asked about at one event only, `PermissionRequest`. */
type HookAgent = {
  /** The member that names the turn. */
  turn: 'prompt_id' | 'turn_id';
  /** The tools that ask the user something; for the others, the user is asked for permission. */
  tools: ReadonlyMap<string, ToolMapping>;
  /** For the other tools. */
  permission: ToolMapping;
};

const permission: ToolMapping = {
  ask: askPermission,
  identify: ({ description: _explanation, ...input }) => input,
};

/** The supported agents, by the query parameter `agent`. */
export const hookAgents: Readonly<Record<'claude' | 'codex', HookAgent>> = {
  claude: {
    turn: 'prompt_id',
    tools: new Map<string, ToolMapping>([
      ['AskUserQuestion', { ask: askQuestions, identify: (input) => input.questions }],
      // The plan itself is in a file, and only this event has it. There is one at a time.
      ['ExitPlanMode', { ask: proposePlan, identify: () => null }],
    ]),
    permission,
  },
  // Has no hook for its own questions, and accepts no rules with a decision.
  codex: {
    turn: 'turn_id',
    tools: new Map(),
    permission: { ...permission, ask: (call) => askPermission({ ...call, suggestions: [] }) },
  },
};

const INPUT = ['body', 'tool_input'];

const deny = (message: string): Decision => ({ behavior: 'deny', message });

function askPermission({ tool, input, suggestions }: HookCall): HookQuestion {
  const rules = findRules(suggestions);
  const updatedPermissions = [{ type: 'addRules', rules, behavior: 'allow', destination: 'session' }];
  const options: { label: string; description?: string; preview?: string; decision: Decision }[] = [
    {
      label: 'Allow once',
      preview: show(JSON.stringify(input, null, 2).split('\n')),
      decision: { behavior: 'allow' },
    },
    ...(rules
      ? [
          {
            label: 'Allow for this session',
            preview: show(rules.map(formatRule)),
            decision: { behavior: 'allow', updatedPermissions } as const,
          },
        ]
      : []),
    {
      label: 'Deny',
      description: 'So does a text of your own, which the agent reads as the reason.',
      decision: deny('The user denied this call.'),
    },
  ];
  const title = `Allow ${tool}?`;
  const shown = options.map(({ decision: _decision, ...option }) => option);
  return {
    title,
    kind: 'questionRequested',
    isPermission: true,
    shown: { questions: [{ question: title, options: shown }] },
    toDecision(answer) {
      const { options: [chosen = -1] = [], other = null } = questionsOf(answer)[0] ?? {};
      return other === null ? (options[chosen]?.decision ?? deny('The answer is empty.')) : deny(other);
    },
  };
}

/** A rule that the agent suggests to add. Nothing else that it suggests is offered. */
const AddRules = z.object({
  type: z.literal('addRules'),
  behavior: z.literal('allow'),
  rules: z.array(z.strictObject({ toolName: z.string(), ruleContent: z.string().optional() })).min(1),
});
type Rule = z.output<typeof AddRules>['rules'][number];

const findRules = (suggestions: readonly unknown[]) =>
  suggestions.map((one) => AddRules.safeParse(one).data?.rules).find((rules) => rules !== undefined);

const formatRule = ({ toolName, ruleContent }: Rule) =>
  ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`;

/** The maximum size of what the user is shown of a call, in bytes. */
const MAX_PREVIEW_BYTES = 16_384;

/** What can make text look like another, or control a terminal: all that is invisible or looks like a space. */
const INVISIBLE = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Joins lines, with escapes in place of invisible characters. @throws {ValidationError} if they are too long */
function show(lines: readonly string[]): string {
  const toEscape = (character: string) => `\\u{${character.codePointAt(0)?.toString(16)}}`;
  const shown = lines.map((line) => line.replace(INVISIBLE, toEscape)).join('\n');
  if (Buffer.byteLength(shown) <= MAX_PREVIEW_BYTES) return shown;
  const message = `must have at most ${MAX_PREVIEW_BYTES} bytes as it is shown to the user`;
  throw new ValidationError([{ path: INPUT, message, value: null }]);
}

/** The questions of a tool call, without the members that the payload does not have. */
const Questions = z.object({
  questions: z
    .array(
      z.object({
        question: z.string(),
        header: z.string().optional(),
        options: z.array(
          z.object({
            label: z.string(),
            description: z.string().optional(),
            preview: z.string().optional(),
          }),
        ),
        multiSelect: z.boolean().optional(),
      }),
    )
    .min(1, 'must have a question')
    .refine(
      (questions) => new Set(questions.map(({ question }) => question)).size === questions.length,
      'must not repeat a question, because answers are told apart by it',
    ),
});

function askQuestions({ input }: HookCall): HookQuestion {
  const shown = checkShape(Questions, input, INPUT);
  return {
    title: toTitle(shown.questions[0]?.question ?? '', 'A question'),
    kind: 'questionRequested',
    isPermission: false,
    shown,
    toDecision(answer) {
      const answers = questionsOf(answer).map(({ question, labels, other }) => [
        question,
        [...labels, ...(other === null ? [] : [other])].join(', '),
      ]);
      return { behavior: 'allow', updatedInput: { ...input, answers: Object.fromEntries(answers) } };
    },
  };
}

const Plan = z.looseObject({ plan: z.string().regex(/\S/, 'must not be blank') });

function proposePlan({ input }: HookCall): HookQuestion {
  const { plan } = checkShape(Plan, input, INPUT);
  const summary = toTitle(plan.trim().split('\n', 1)[0]?.replace(/^#+/, '') ?? '', 'A plan');
  return {
    title: 'Approve the plan?',
    kind: 'planRequested',
    isPermission: false,
    // All of it, because it is all approved: an agent asks for permissions beside the plan.
    shown: { summary, ...input },
    toDecision(answer) {
      if (!('plan' in answer)) throw new Error('The answer to a plan is a decision.');
      const { decision, feedback } = answer.plan;
      // The input is required: without it, the agent ignores that the plan is approved.
      if (decision === 'approve') return { behavior: 'allow', updatedInput: input };
      const what = decision === 'reject' ? 'rejected the plan' : 'requests changes to the plan';
      return deny(feedback === null ? `The user ${what}.` : `The user ${what}: ${feedback}`);
    },
  };
}

function questionsOf(answer: AnswerContent) {
  if ('questions' in answer) return answer.questions;
  throw new Error('The answer to questions has questions.');
}
