import { createSecretKey, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createUnsubscribeTokens, toUnsubscribeUrl } from '../../src/delivery/email/unsubscribe-token.ts';
import { version } from '../../src/version.ts';
import {
  type AnsweringGateway,
  publishByMail,
  sendForm,
  startAnsweringGateway,
} from '../support/answer-page.ts';
import { describeInChromium } from '../support/browser.ts';
import { findUrl, seed, startDevelopmentGateway } from '../support/development.ts';
import { publish } from '../support/records.ts';
import { findBarriers } from './axe.ts';

const word = 'Donaudampfschifffahrtsgesellschaft'.repeat(4);
const plan = `## Steps\n\n1. Do it\n   - ${word}\n\n\`\`\`ts\n${word}\n\`\`\`\n\n| a | b |\n|---|---|\n| ${word} | c |\n\n> [here](https://a.example/${word})`;
const options = [{ label: word, description: word, preview: word }, { label: 'B' }];
const asked = [
  { question: `Which? ${word}`, options },
  { question: 'Which ones?', options, multiSelect: true },
  { question: 'Why?', options: [] },
];

describeInChromium('pages', (open) => {
  const key = randomBytes(32);
  const tokens = createUnsubscribeTokens(new Map([['k1', createSecretKey(key)]]));
  let gateway: AnsweringGateway;
  beforeAll(async () => {
    gateway = await startAnsweringGateway({ ENCRYPTION_KEYS: `k1:${key.toString('base64')}` });
  });
  afterAll(() => gateway.close());

  const readRequest = async (userId: string, id: string) =>
    (await gateway.as(userId).notification({ id })).request;
  const toUnsubscribeLink = (userId: string) =>
    toUnsubscribeUrl(gateway.address, tokens.sign({ userId, kind: 'task_failed' }));

  test('a plan is approved by the keyboard, after pressing the button without a choice did nothing', async () => {
    const { id, link } = await publishByMail(gateway, 'alice');
    const { page, issues } = await open(link);
    await page.getByRole('button', { name: 'Send answer' }).click();
    expect(await readRequest('alice', id)).toMatchObject({ state: 'OPEN' });
    await page.getByRole('radio', { name: 'Approve' }).focus();
    for (const key of ['Space', 'Tab']) await page.keyboard.press(key);
    await page.keyboard.type('Mind the tests');
    for (const key of ['Tab', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: 'Your answer is stored' }).waitFor();
    const answer = { via: 'EMAIL', plan: { decision: 'APPROVE', feedback: 'Mind the tests' } };
    expect(await readRequest('alice', id)).toMatchObject({ answer });
    // Going back and choosing again shows the winner.
    await page.goBack();
    await page.goto(link);
    await page.getByText('by link in a mail').waitFor();
    expect(issues).toEqual([]);
  });

  test('opening the link of an email changes nothing, and the button turns email about the kind off', async () => {
    const user = gateway.as('bob');
    await publish(gateway, 'bob');
    const { page, issues } = await open(toUnsubscribeLink('bob'));
    await page.getByRole('heading', { name: 'Stop email about failed tasks?' }).waitFor();
    const byDefault = await user.preferences();
    expect(byDefault).toContainEqual(
      expect.objectContaining({ notificationKind: 'TASK_FAILED', emailEnabled: true }),
    );

    await page.getByRole('button', { name: 'Stop this email' }).click();
    await page.getByRole('heading', { name: 'Email about failed tasks is off' }).waitFor();
    expect(page.url()).toBe(toUnsubscribeLink('bob'));
    expect(await user.preferences()).toEqual(
      byDefault.map((one) =>
        one.notificationKind === 'TASK_FAILED' ? { ...one, emailEnabled: false } : one,
      ),
    );
    expect(issues).toEqual([]);
  });

  test.each([
    ['light', 1280, 'en-US'],
    ['dark', 320, 'de-DE'],
  ] as const)('they fit and have no barriers: %s, %i pixels, %s', async (colorScheme, width, locale) => {
    const userId = `${colorScheme}-${width}`;
    const input = { summary: word, plan, [word]: { [word]: word } };
    const onePlan = await publishByMail(gateway, userId, 'plan_requested', {
      expiresInSeconds: 3600,
      projectName: word,
      payload: { planRequested: { toolId: 't', input } },
    });
    const answered = await publishByMail(gateway, userId, 'task_response_ready');
    await sendForm(answered.link, { 'text-0': word });
    const questions = await publishByMail(gateway, userId, 'question_requested', {
      payload: { questionRequested: { toolId: 't', input: { questions: asked } } },
    });
    const unsubscribe = toUnsubscribeLink(userId);
    const { page } = await open(unsubscribe, { viewport: { width, height: 800 }, colorScheme, locale });
    const links = [onePlan, answered, questions].map(({ link }) => link);
    for (const link of [unsubscribe, ...links, `${questions.link}x`]) {
      await page.goto(link);
      if (link === questions.link) {
        await page.evaluate(() => document.querySelector('form')?.submit());
        await page.getByRole('alert').waitFor();
      }
      expect(await findBarriers(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      const language = link === unsubscribe ? 'en' : locale.slice(0, 2);
      expect(await page.getAttribute('html', 'lang')).toBe(language);
    }
    await page.context().close();
  });

  test('another site can neither frame an answer, nor send its form, nor learn its address', async () => {
    const input = { summary: 's', plan: '[a](http://127.0.0.1:1/x)' };
    const { id, link } = await publishByMail(gateway, 'framed', 'plan_requested', {
      payload: { planRequested: { toolId: 't', input } },
    });
    const { page } = await open('about:blank');
    await page.setContent(`<iframe src="${link}"></iframe>
        <form method="post" action="${link}"><input name="choice-0" value="0"><button>Win</button></form>`);
    await page.waitForLoadState('networkidle');
    expect(await page.frames().at(-1)?.content()).not.toContain('A title');
    await page.getByRole('button', { name: 'Win' }).click();
    await page.getByRole('heading', { name: 'The answer could not be read' }).waitFor();
    expect(await readRequest('framed', id)).toMatchObject({ state: 'OPEN' });
    await page.goto(link);
    const [request] = await Promise.all([
      page.waitForRequest(/127\.0\.0\.1:1\//),
      page.getByRole('link', { name: 'a', exact: true }).click(),
    ]);
    expect(request.headers().referer).toBeUndefined();
  });

  test('the REST reference has a token in development, which is neither in its URL nor stored', async () => {
    const development = await startDevelopmentGateway({ GRAPHIQL: 'true' });
    onTestFinished(() => development.close());
    await seed(development, 'alice');
    const { page, issues } = await open(findUrl(development, 'REST'));
    await page.getByText('Get editor auth status').waitFor();
    await page.getByText(`0.1.0 (gateway ${version})`).waitFor();
    expect(page.url()).toBe(`${development.address}/docs`);
    expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain('eyJ');

    await page.getByText('Get editor auth status').click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table', { hasText: '"needs_reauth": false' }).waitFor();
    expect(issues).toEqual([]);
  });
});
