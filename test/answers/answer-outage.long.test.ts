import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type AnsweringGateway,
  decide,
  openLink,
  publishByMail,
  sendForm,
  startAnsweringGateway,
} from '../support/answer-page.ts';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { listEvents, readNotification } from '../support/requests.ts';
import {
  click,
  createSubmission,
  interact,
  lastModal,
  memberOf,
  publishInChat,
  type SlackGateway,
  slackSettings,
} from '../support/slack.ts';

/* While PostgreSQL does not respond, a person who answers knows within three seconds. */

const AGAIN = 'What you sent was not stored. Please try again. Your answer counts only once.';

let database: TestDatabase;
let proxy: TestProxy;
let gateway: AnsweringGateway;
let chat: ChatApi;
let slack: SlackGateway;
beforeAll(async () => {
  database = await createTestDatabase();
  const url = new URL(database.url);
  proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  chat = await startChatApi();
  const settings = { ...slackSettings(chat), DATABASE_URL: url.href, DATABASE_TIMEOUT_MS: '2000' };
  gateway = await startAnsweringGateway(settings);
  slack = { ...gateway, chat, database };
});
afterAll(async () => {
  await gateway.close();
  await chat.close();
  await proxy.close();
  await database.drop();
});

/** Returns what a call resolves to, and expects that a person does not wait too long. */
async function whileWaiting<Result>(call: Promise<Result>): Promise<Result> {
  const start = performance.now();
  const result = await call;
  expect(performance.now() - start).toBeLessThan(3000);
  return result;
}

test.each(['stall', 'refuse'] as const)(
  'if connections %s, the page says so, and the answer is stored once later',
  async (state) => {
    const { id, link } = await publishByMail(gateway, state);
    await proxy.setState(state);
    for (const call of [openLink(link), sendForm(link, decide.approve), sendForm(link, decide.approve)]) {
      const { status, page } = await whileWaiting(call);
      expect([status, page]).toEqual([503, expect.stringContaining('counts only once.')]);
    }
    await proxy.setState('open');
    await eventually(async () => expect((await sendForm(link, decide.approve)).status).toBe(200));
    expect((await sendForm(link, decide.reject)).status).toBe(409);
    expect((await readNotification(gateway, state, id)).request).toMatchObject({ answer: { via: 'EMAIL' } });
    expect(await listEvents(database, state)).toEqual([`answered ${id}`]);
    expect(gateway.logLines().join('\n')).not.toContain(link.split('/').at(-1));
  },
);

test.each(['stall', 'refuse'] as const)(
  'if connections %s, a member is told so, and the answer is stored once later',
  async (state) => {
    const userId = `chat-${state}`;
    const { id, message } = await publishInChat(slack, userId);
    const old = { ...message, blocks: message.blocks };
    await click(slack, message, 'Request changes');
    const modal = lastModal(slack);
    await proxy.setState(state);
    for (const label of ['Approve', 'Request changes', 'Approve']) {
      expect(await whileWaiting(click(slack, old, label))).toMatchObject({ status: 200 });
    }
    const late = await whileWaiting(interact(slack, createSubmission(userId, modal, { 'text-0': 'x' })));
    expect(late.body).toEqual({
      response_action: 'errors',
      errors: { 'text-0': AGAIN },
    });
    const told = () =>
      chat.ephemerals.filter(({ user }) => user === memberOf(userId)).map(({ text }) => text);
    await eventually(() => expect(told()).toEqual(Array(3).fill(AGAIN)));
    await proxy.setState('open');
    const winner = `Answered: Approve (${userId}, in the chat)`;
    await eventually(async () => {
      await click(slack, old, 'Approve');
      expect(told()).toContain(winner);
    });
    await eventually(() => expect(message.updates.at(-1)).toContain(winner));
    expect(await listEvents(database, userId)).toEqual([`answered ${id}`]);
  },
);
