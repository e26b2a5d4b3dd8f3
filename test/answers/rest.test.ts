import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';

const gateway = useGateway();

const post = (userId: string, id: string, body: object) =>
  gateway.as(userId).rest.post(`/user/notifications/${id}/answer`, body);

test('the first answer is returned, also to a retry, and in the conflict of others', async () => {
  const { id } = await publish(gateway, 'rest', 'question_requested');
  const questions = [{ index: 0, options: [1] }];
  const first = await post('rest', id, { answer_id: 'a', questions });
  const stored = {
    answer_id: 'a',
    questions: [{ index: 0, options: [1], other: null, question: 'Which?', labels: ['B'] }],
    by: 'rest',
    via: 'rest',
    answered_at: expect.any(String),
  };
  expect(first).toMatchObject({ status: 200, body: { answer: stored } });
  expect(Object.keys(first.body.answer).sort()).toEqual(Object.keys(stored).sort());
  expect((await post('rest', id, { answer_id: 'a', questions })).body).toEqual(first.body);

  const late = await post('rest', id, { answer_id: 'b', questions });
  const { answer } = first.body;
  const value = { state: 'answered', by: 'rest', via: 'rest', at: answer.answered_at, answer };
  expect(late).toMatchObject({
    status: 409,
    body: { code: 'conflict', errors: [{ location: 'body', value }] },
  });
  expect(await post('rest', id, { answer_id: 'a', questions: [{ index: 0, options: [0] }] })).toMatchObject({
    status: 409,
    body: { errors: [{ location: 'body.answer_id', value: 'a' }] },
  });
});

test.each([
  ['an answer that does not fit', { reply: { text: 'Yes' } }, 'body.reply'],
  ['no answer', {}, 'body'],
  ['two answers', { plan: { decision: 'approve' }, reply: { text: 'Yes' } }, 'body'],
  ['an unknown option', { questions: [{ index: 0, options: [7] }] }, 'body.questions[0].options[0]'],
  ['an unknown decision', { plan: { decision: 'perhaps' } }, 'body.plan.decision'],
])('rejects %s at its location', async (_name, answer, location) => {
  const { id } = await publish(gateway, 'rules', 'question_requested');
  expect(await post('rules', id, { answer_id: 'a', ...answer })).toMatchObject({
    status: 422,
    body: { code: 'validation_failed', errors: [{ location }] },
  });
});

test('an expired request is not a refusal', async () => {
  const { id } = await publish(gateway, 'late', 'plan_requested', { expiresInSeconds: 60 });
  await gateway.database.sql(`update notification set expires_at = now() where user_id = 'late'`);
  const value = { state: 'expired', by: null, via: null, at: expect.any(String), answer: null };
  expect(await post('late', id, { answer_id: 'a', plan: { decision: 'approve' } })).toMatchObject({
    status: 409,
    body: { errors: [{ location: 'body', value }] },
  });
});

test('an unknown notification is 404', async () => {
  expect((await post('rest', 'unknown', { answer_id: 'a', reply: { text: 'Yes' } })).status).toBe(404);
});
