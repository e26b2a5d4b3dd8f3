import { expect, test, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { publish, resolve } from '../support/records.ts';
import { answers, listEvents } from '../support/requests.ts';
import { useInboxes, watch } from './client-inboxes.ts';

const { gateway, open, close, edit, collectAnswerIds } = useInboxes();

/** The storage of a tab: Node.js has none without a file. */
function stubSessionStorage(): Map<string, string> {
  const items = new Map<string, string>();
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  });
  return items;
}

/** Lets the gateway execute the answers, and loses the replies. */
const loseAnswers = () => edit('Answer', () => 'cut');
const returnAnswers = () => edit('Answer', (part) => part);

test('shows an answer at once, and stores it', async () => {
  const { id } = await publish(gateway, 'stored', 'question_requested');
  const inbox = open('stored');
  const card = watch(inbox.notification(id));
  const counts = watch(inbox.counts);
  await eventually(() => expect(counts().data).toMatchObject({ total: 1, openRequests: 1 }));
  await eventually(() => expect(card().data).toMatchObject({ request: { state: 'OPEN' } }));
  const answering = inbox.answer(id, { questions: [{ index: 0, options: [1] }] });
  const questions = [{ index: 0, question: 'Which?', options: [1], labels: ['B'], other: null }];
  const shown = {
    status: 'RESOLVED',
    resolution: 'ANSWERED',
    request: { state: 'ANSWERED', answer: { questions } },
  };
  expect(card().data).toMatchObject(shown);
  expect(counts().data).toMatchObject({ total: 0, openRequests: 0 });
  expect(await answering).toMatchObject({ type: 'stored', notification: { id, ...shown } });
  expect(card().data).toMatchObject({ ...shown, request: { answer: { by: 'stored', via: 'GRAPHQL' } } });
});

test('reports a request that was withdrawn', async () => {
  const { id } = await publish(gateway, 'withdrawn', 'plan_requested', {
    task: { id: 'task-1', projectId: 'project-1' },
  });
  await resolve(gateway, 'withdrawn', 'task-1');
  const outcome = await open('withdrawn').answer(id, { plan: { decision: 'APPROVE' } });
  expect(outcome).toMatchObject({ type: 'alreadySettled', state: 'WITHDRAWN', answer: null });
});

test('sends an answer again under the same ID while its outcome is not known, also after a reload', async () => {
  const stored = stubSessionStorage();
  const { id } = await publish(gateway, 'reload');
  const approve = { plan: { decision: 'APPROVE', feedback: 'Secret' } } as const;
  const collect = collectAnswerIds();
  loseAnswers();
  await expect(open('reload').answer(id, approve)).rejects.toMatchObject({
    code: 'NETWORK_ERROR',
  });
  // The first attempt, and two retries.
  expect(collect()).toHaveLength(3);
  expect(stored.size).toBe(1);
  close();

  returnAnswers();
  const outcome = await open('reload').answer(id, approve);
  expect(outcome).toMatchObject({ type: 'stored' });
  expect(new Set(collect()).size).toBe(1);
  expect(stored.size).toBe(0);
  const events = await listEvents(gateway.database, 'reload');
  expect(events.filter((event) => event.includes('answered'))).toHaveLength(1);
});

test('sends other content, and answers of another account, under other IDs', async () => {
  stubSessionStorage();
  const { id } = await publish(gateway, 'other');
  await publish(gateway, 'another', 'plan_requested', { id });
  const collect = collectAnswerIds();
  loseAnswers();
  const inbox = open('other');
  await expect(inbox.answer(id, answers.approve)).rejects.toMatchObject({ code: 'NETWORK_ERROR' });
  returnAnswers();
  expect(await inbox.answer(id, answers.reject)).toMatchObject({
    type: 'alreadySettled',
    answer: { plan: { decision: 'APPROVE' } },
  });
  await open('another').answer(id, answers.approve);
  expect(new Set(collect()).size).toBe(3);
});

test('without session storage, remembers the ID as long as the page', async () => {
  vi.stubGlobal('sessionStorage', undefined);
  const { id } = await publish(gateway, 'memory');
  const collect = collectAnswerIds();
  const inbox = open('memory');
  loseAnswers();
  await expect(inbox.answer(id, answers.approve)).rejects.toMatchObject({ code: 'NETWORK_ERROR' });
  returnAnswers();
  expect(await inbox.answer(id, answers.approve)).toMatchObject({ type: 'stored' });
  expect(new Set(collect()).size).toBe(1);
});
