import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { asMember, publish } from './support/records.ts';
import { member } from './support/tokens.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const ANSWER = `answerId by via answeredAt plan { decision feedback }
  questions { index question options labels other } reply { text }`;
const NOTIFICATION = `... on UserNotification { id status resolution resolvedAt
  request { state expiresAt answer { ${ANSWER} } onExpiry { ${ANSWER} } receipt { outcome message } } }`;
const ANSWERING = `mutation ($input: AnswerNotificationInput!) { answerNotification(input: $input) { __typename
  ... on AnswerStored { answer { ${ANSWER} } notification { ${NOTIFICATION} } }
  ... on AlreadySettled { state settledBy: answer { ${ANSWER} } notification { ${NOTIFICATION} } } } }`;

async function answer(userId: string, input: Record<string, unknown>) {
  return (await asMember(gateway, userId, ANSWERING, { input: { answerId: randomUUID(), ...input } }))
    .answerNotification;
}

async function read(userId: string, id: string) {
  const query = `query ($id: ID!) { notification(id: $id) { ${NOTIFICATION} } }`;
  return (await asMember(gateway, userId, query, { id })).notification;
}

describe('an answer', () => {
  test('settles the request of a plan and resolves the notification', async () => {
    const { id } = await publish(gateway, 'plan');
    expect((await read('plan', id)).request).toEqual({
      state: 'OPEN',
      expiresAt: null,
      answer: null,
      onExpiry: null,
      receipt: null,
    });
    const result = await answer('plan', {
      id,
      answerId: 'a',
      plan: { decision: 'REQUEST_CHANGES', feedback: 'Smaller' },
    });
    const stored = {
      answerId: 'a',
      by: 'plan',
      via: 'GRAPHQL',
      plan: { decision: 'REQUEST_CHANGES', feedback: 'Smaller' },
      questions: null,
      reply: null,
    };
    expect(result).toMatchObject({
      __typename: 'AnswerStored',
      answer: stored,
      notification: { status: 'RESOLVED', resolution: 'ANSWERED' },
    });
    expect(result.answer.answeredAt).toBe(result.notification.resolvedAt);
    expect((await read('plan', id)).request).toMatchObject({ state: 'ANSWERED', answer: stored });
  });
});

describe('over REST', () => {
  const post = async (userId: string, id: string, body: object) =>
    rest(gateway, 'POST', `/user/notifications/${id}/answer`, { token: await member(userId), body });

  test('the first answer is returned, also to a retry, and others are told who was first', async () => {
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
    expect(await post('rest', id, { answer_id: 'a', questions: [{ index: 0, options: [0] }] })).toMatchObject(
      {
        status: 409,
        body: { errors: [{ location: 'body.answer_id', value: 'a' }] },
      },
    );
  });
});
