import { describe, expect, test } from 'vitest';
import { describeMessage } from '../../src/delivery/message.ts';
import type { Notification } from '../../src/notifications/notification.entity.ts';
import type { AskUserQuestion, NotificationContent } from '../../src/notifications/payload.ts';
import { claim, notification, plan } from '../support/delivery-job.ts';

const APP_URL = 'https://app.example.com/inbox?id={id}#top';
const create = (changes: Partial<Notification> = {}, appUrl: string | null = APP_URL, id = 'n-1') =>
  describeMessage({ ...claim, notificationId: id }, { ...notification, ...changes }, appUrl);

test('a message contains what all channels show', () => {
  expect(create()).toEqual({
    userId: 'alice',
    notificationId: 'n-1',
    kind: 'plan_requested',
    title: 'Add a login page',
    request: 'A plan needs your approval.',
    details: 'Add a form.',
    questions: [],
    task: 'Login',
    project: 'Shop',
    occurredAt: '2026-05-04T09:59:59.000Z',
    expiresAt: '2026-05-05T10:00:00.000Z',
    url: 'https://app.example.com/inbox?id=n-1#top',
  });
});

test('a message names task and project by their IDs, if they have no names', () => {
  expect(create({ taskName: null, projectName: null })).toMatchObject({
    task: 'task-1',
    project: 'project-1',
  });
});

const ask = (...questions: string[]): NotificationContent => ({
  kind: 'question_requested',
  payload: {
    toolId: 'tool',
    input: { questions: questions.map((question) => ({ question, options: [{ label: 'Yes' }] })) },
  },
});

const result = (
  kind: 'task_failed' | 'task_response_ready',
  message: string | null,
): NotificationContent => ({
  kind,
  payload: { taskStatus: 'errored', message, messageLabel: null, messageTimestamp: null },
});

describe('the request and the details', () => {
  const FAILED = 'The task failed.';
  const READY = 'The task produced a response.';
  const long = (length: number) => 'x'.repeat(length);

  test.each<[string, NotificationContent, string | null, string, string | null]>([
    ['a plan', plan, 'A preview', 'A plan needs your approval.', 'Add a form.'],
    ['a question', ask('Which?'), 'A preview', 'A question needs your answer.', 'Which?'],
    ['several questions', ask('Which?', 'When?'), null, '2 questions need your answers.', 'Which?\nWhen?'],
    ['a failure with a preview', result('task_failed', 'It'), 'It broke.', FAILED, 'It broke.'],
    ['a failure without a message', result('task_failed', ''), null, FAILED, null],
    ['a failure with an empty preview', result('task_failed', 'It broke.'), '', FAILED, 'It broke.'],
    ['a response', result('task_response_ready', 'Done.'), null, READY, 'Done.'],
    ['3000 characters', result('task_failed', long(3000)), null, FAILED, long(3000)],
    ['more, which are cut', result('task_failed', long(3001)), null, FAILED, `${long(2999)}…`],
    ['a pair at the limit', result('task_failed', `${long(2998)}😀😀`), null, FAILED, `${long(2998)}…`],
  ])('of %s', (_what, content, previewText, request, details) => {
    expect(create({ ...content, previewText })).toMatchObject({ kind: content.kind, request, details });
  });
});

describe('the questions', () => {
  const list = (...questions: AskUserQuestion[]) =>
    create({ kind: 'question_requested', payload: { toolId: 'tool', input: { questions } } }).questions;

  test('have their options, with label and description in one line', () => {
    const options = [
      { label: 'Half to even', description: 'What the ledger\ndoes today', preview: 'Not shown' },
      { label: ' Half\u2028up ', description: '\u202e' },
      { label: '' },
    ];
    expect(list({ question: 'How?\nBy which rule?', options }, { question: 'When?', options: [] })).toEqual([
      {
        question: 'How?\nBy which rule?',
        options: ['Half to even: What the ledger does today', 'Half up', ''],
        omitted: 0,
      },
      { question: 'When?', options: [], omitted: 0 },
    ]);
  });

  test('are limited: 10 questions with 10 options each, and their lengths', () => {
    const long = 'x'.repeat(5000);
    const options = Array(50).fill({ label: long, description: long });
    const listed = list(...Array(50).fill({ question: long, options }));
    const option = `${'x'.repeat(99)}…: ${'x'.repeat(299)}…`;
    expect(listed).toEqual(
      Array(10).fill({ question: `${'x'.repeat(999)}…`, options: Array(10).fill(option), omitted: 40 }),
    );
  });
});

describe('the URL', () => {
  test.each([
    ['a/b?c#d&e', 'a%2Fb%3Fc%23d%26e'],
    ['$& 用户', '%24%26%20%E7%94%A8%E6%88%B7'],
    ['"><script>', '%22%3E%3Cscript%3E'],
  ])('contains the encoded ID %s', (id, encoded) => {
    expect(create({}, APP_URL, id).url).toBe(`https://app.example.com/inbox?id=${encoded}#top`);
  });

  test('is null without APP_URL, and for the IDs . and .., which a path would lose', () => {
    expect(create({}, null)?.url).toBeNull();
    for (const id of ['.', '..'])
      expect(create({}, 'https://app.example.com/inbox/{id}', id)?.url).toBeNull();
  });
});
