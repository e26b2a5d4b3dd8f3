import { expect, test } from 'vitest';
import { type Kind, publish } from '../support/records.ts';
import { acknowledge, answer, answers } from '../support/requests.ts';
import { findBarriers } from './axe.ts';
import { ask, asked, card, describeInboxApp, refuse, waitForLive } from './inbox-app.ts';

const propose = (plan: string, more: object = {}) => ({
  planRequested: { toolId: 'tool-p', input: { summary: 'In short', plan, ...more } },
});

describeInboxApp('for answers', ({ gateway, serve, open, openFor }) => {
  const expectAnswer = async (user: string, id: string, answer: object) =>
    expect((await gateway.as(user).notification({ id })).request?.answer).toMatchObject(answer);

  test('approves a plan with the keyboard only, and shows what became of the answer', async () => {
    const { id } = await publish(gateway, 'keys', 'plan_requested', {
      title: 'Split the service',
      expiresInSeconds: 300,
      onExpiry: answers.approve,
    });
    const page = await openFor('keys');
    const plan = card(page, 'Split the service');
    await plan.getByText('Expires in 5 minutes; then: Approved').waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    while ((await focused()) !== 'Approve') await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Approve', disabled: false }).waitFor();
    await page.keyboard.press('Enter');
    await plan.getByText('By keys in an app').waitFor();
    // It stays until the user leaves the tab, and so does the focus.
    expect(await focused()).toContain('Approved');
    await expectAnswer('keys', id, { plan: { decision: 'APPROVE', feedback: null } });
    await acknowledge(gateway, 'keys', id, 'REFUSED', 'The branch is gone');
    await plan.getByText('The task could not use it: The branch is gone').waitFor();

    await page.getByRole('button', { name: /^Waiting for you/ }).click();
    await page.getByText('Nothing waits for you').waitFor();
  });

  test('approves no plan that takes the place of another under the pointer', async () => {
    const task = { id: 'task-of-slide', projectId: 'project' };
    await publish(gateway, 'slide', 'plan_requested', { title: 'SAFE', task });
    const page = await openFor('slide');
    const approve = (title: string, disabled: boolean) =>
      card(page, title).getByRole('button', { name: 'Approve', disabled });
    await approve('SAFE', false).waitFor();
    const { x = 0, y = 0 } = (await approve('SAFE', false).boundingBox()) ?? {};
    const evil = await publish(gateway, 'slide', 'plan_requested', { title: 'EVIL', task });
    await approve('EVIL', true).waitFor();
    await page.mouse.click(x + 5, y + 5);
    await card(page, 'EVIL').getByText('Nothing was sent').waitFor();
    // What it superseded stays, and says so.
    await card(page, 'SAFE').getByText('Replaced').first().waitFor();
    await approve('EVIL', false).click();
    await card(page, 'EVIL').getByText('By slide in an app').waitFor();
    await expectAnswer('slide', evil.id, { plan: { decision: 'APPROVE' } });
  });

  test('shows everything that is approved: the whole input of a plan, and the default in words', async () => {
    const publishWhole = (title: string, kind: Kind, payload: object, onExpiry: object) =>
      publish(gateway, 'whole', kind, { title, payload, onExpiry, expiresInSeconds: 300 });
    const tools = [{ name: 'Bash' }];
    await publishWhole('A plan', 'plan_requested', propose('1. Do it', { branch: 'main', tools }), {
      plan: { decision: 'REQUEST_CHANGES', feedback: 'Smaller steps' },
    });
    await publishWhole('One', 'question_requested', ask(asked.slice(0, 1)), answers.second);
    const other = { index: 0, options: [], other: 'CSV' };
    await publishWhole('Two', 'question_requested', ask(asked.slice(0, 2)), {
      questions: [other, { index: 1, options: [0, 1] }],
    });
    const page = await openFor('whole');
    await card(page, 'A plan').getByText('; then: Changes requested: Smaller steps').waitFor();
    const others = card(page, 'A plan').locator('.wa-input');
    expect(await others.locator('dt').allTextContents()).toEqual(['branch', 'tools']);
    expect(await others.locator('dd').allTextContents()).toEqual(['main', JSON.stringify(tools, null, 2)]);
    await card(page, 'One').getByText('; then: XML').waitFor();
    const both = '; then: Which format? CSV; Who gets a copy? Accounting, The archive';
    await card(page, 'Two').getByText(both).waitFor();
  });

  test('requests changes, and keeps what was typed if the answer is refused', async () => {
    const { id } = await publish(gateway, 'changes', 'plan_requested', { title: 'A plan' });
    const page = await openFor('changes');
    await card(page, 'A plan').getByRole('button', { name: 'Request changes' }).click();
    await page.getByLabel('What should change?').fill('Smaller steps');
    await refuse(page, 'answerNotification', 'INTERNAL_ERROR');
    await page.getByRole('button', { name: 'Send request' }).click();
    await card(page, 'A plan').getByText('The server has a problem.').waitFor();
    expect(await page.getByLabel('What should change?').inputValue()).toBe('Smaller steps');
    await page.unroute('**/graphql');
    await page.getByRole('button', { name: 'Send request' }).click();
    await card(page, 'A plan').getByText('By changes in an app').waitFor();
    await expectAnswer('changes', id, { plan: { decision: 'REQUEST_CHANGES', feedback: 'Smaller steps' } });
  });

  test('shows why an answer was refused, although the notification was shown as answered elsewhere', async () => {
    await publish(gateway, 'refused', 'plan_requested', { title: 'The plan' });
    const page = await openFor('refused');
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await refuse(page, 'mutation Answer', 'FORBIDDEN', released);
    await card(page, 'The plan').getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await card(page, 'The plan').getByText('Approved').waitFor();
    release();
    await card(page, 'The plan').getByRole('alert').waitFor();
    await card(page, 'The plan').getByRole('button', { name: 'Approve' }).waitFor();
  });

  test('shows in another browser which answer was first', async () => {
    const [seen, raced] = ['Seen', 'Raced'];
    for (const title of [seen, raced]) await publish(gateway, 'two', 'plan_requested', { title });
    const app = await serve('two');
    const [{ page: one }, { page: other }] = [await open(app), await open(app)];
    await waitForLive(other);
    await card(other, seen).waitFor();
    await card(one, seen).getByRole('button', { name: 'Approve' }).click();
    await card(other, seen).getByText('By two in an app').waitFor();

    // The other answer is on its way when the first one is stored.
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await other.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('answerNotification')) await released;
      await route.continue();
    });
    await card(other, raced).getByRole('button', { name: 'Reject' }).click();
    await card(other, raced).getByRole('button', { name: 'Send rejection' }).click();
    await card(one, raced).getByRole('button', { name: 'Approve' }).click();
    await card(one, raced).getByText('By two in an app').waitFor();
    release();
    await card(other, raced).getByText('Your answer came too late. This was first:').waitFor();
    expect(await card(other, raced).locator('.wa-answer-title').textContent()).toBe('Approved');
  });

  test('answers questions with options, several options and an own text', async () => {
    const { id } = await publish(gateway, 'ask', 'question_requested', {
      title: 'Questions',
      payload: ask(asked),
    });
    const page = await openFor('ask');
    const questions = card(page, 'Questions');
    for (const label of ['XML', 'Accounting', 'The archive']) await questions.getByLabel(label).check();
    await questions.getByRole('button', { name: 'Send' }).click();
    await questions.getByText('Answer every question.').waitFor();
    await questions.getByLabel('Red').check();
    // Exactly what is marked is sent: the latest of a text and an option, but both if several can be chosen.
    const expectMarked = async (...labels: string[]) =>
      expect(await questions.locator('.wa-option:has(:checked)').allTextContents()).toEqual(labels);
    await expectMarked('XML', 'Accounting', 'The archive', 'Red');
    await questions.getByLabel('Or else').first().fill('CSV');
    await questions.getByLabel('XML').check();
    expect(await questions.getByLabel('Or else').first().inputValue()).toBe('');
    await questions.getByLabel('Other').fill('Sales');
    await questions.getByLabel('Or else').last().fill('Green');
    await expectMarked('XML', 'Accounting', 'The archive');
    expect(await findBarriers(page)).toEqual([]);
    await questions.getByRole('button', { name: 'Send' }).click();
    await questions.getByText('Accounting, The archive, Sales').waitFor();
    await questions.getByText('By ask in an app').waitFor();
    await expectAnswer('ask', id, {
      questions: [
        { index: 0, options: [1], other: null },
        { index: 1, options: [0, 1], other: 'Sales' },
        { index: 2, options: [], other: 'Green' },
      ],
    });
  });

  test('shows what was allowed, and not what could have been', async () => {
    const call = JSON.stringify({ command: `rm -r ${'build '.repeat(200)}` }, null, 2);
    const options = [
      { label: 'Allow once', preview: call },
      { label: 'Allow for this session', preview: 'Bash(rm *)' },
      { label: 'Deny' },
    ];
    const payload = ask([{ question: 'Allow Bash?', options }]);
    await publish(gateway, 'allow', 'question_requested', { title: 'Allow Bash?', payload });
    const page = await openFor('allow');
    const request = card(page, 'Allow Bash?');
    await request.getByLabel('Allow once').check();
    await request.getByRole('button', { name: 'Send' }).click();
    await request.getByText('By allow in an app').waitFor();
    expect(await request.locator('.wa-answer .wa-preview').allTextContents()).toEqual([call]);
    expect(await request.locator('.wa-answer .wa-cut').count()).toBe(1);
    await request.getByRole('button', { name: 'Show all' }).click();
    expect(await request.locator('.wa-answer .wa-cut').count()).toBe(0);
    expect(await findBarriers(page)).toEqual([]);
  });

  test('keeps what was typed while the user looks at something else', async () => {
    await publish(gateway, 'drafts', 'question_requested', { title: 'Questions', payload: ask(asked) });
    await publish(gateway, 'drafts', 'plan_requested', { title: 'Plan' });
    const page = await openFor('drafts');
    const feedback = card(page, 'Plan').getByLabel('What should change?');
    const option = card(page, 'Questions').getByLabel('Accounting');
    const replaced = card(page, 'Questions').getByLabel('XML');
    const other = card(page, 'Questions').getByLabel('Or else').first();
    await card(page, 'Plan').getByRole('button', { name: 'Request changes' }).click();
    await page.keyboard.type('Smaller');
    await option.check();
    await replaced.check();
    await other.fill('CSV');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('link', { name: 'Inbox' }).click();
    expect(await feedback.inputValue()).toBe('Smaller');
    expect(await option.isChecked()).toBe(true);
    expect(await replaced.isChecked()).toBe(false);
    expect(await other.inputValue()).toBe('CSV');
  });

  test('shows Markdown of plans without HTML, images and hidden text, and what changed since the one before', async () => {
    const task = { id: 'task-of-markdown', projectId: 'project' };
    const plan = [
      '# Steps',
      '1. **First** <img src=x onerror="document.title=1">',
      '![pixel](https://evil.example.com/pixel.png)',
      '[docs](https://docs.example.com/a "T") [run](javascript:alert(1)) <!-- secret -->',
      '[x]: https://hidden.example.com',
    ];
    const publishPlan = (...lines: string[]) =>
      publish(gateway, 'markdown', 'plan_requested', { task, payload: propose(lines.join('\n\n')) });
    const { id } = await publishPlan(...plan);
    await answer(gateway, 'markdown', { id, plan: { decision: 'REQUEST_CHANGES', feedback: 'More' } });
    await publishPlan(...plan, '2. Second');
    const { page, issues } = await open(await serve('markdown'));
    await page.getByText('Steps', { exact: true }).waitFor();
    const shown = page.locator('.wa-markdown');
    for (const text of [
      '<img src=x onerror="document.title=1">',
      '![pixel](https://evil.example.com/pixel.png)',
      'docs (docs.example.com, T) [run](javascript:alert(1)) <!-- secret -->',
      '[x]: https://hidden.example.com',
    ])
      expect(await shown.textContent()).toContain(text);
    expect(await shown.locator('strong').allTextContents()).toEqual(['First']);
    expect(await shown.locator('img, script').count()).toBe(0);
    const links = await shown.locator('a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    expect(links).toEqual(['https://docs.example.com/a']);
    await page.getByText('Changes since the plan before').click();
    await page.locator('ins').waitFor();
    expect(await page.locator('ins').allTextContents()).toEqual(['\n2. Second']);
    expect(await page.locator('del').count()).toBe(0);
    expect(issues).toEqual([]);
  });

  test('shows a long plan whole while it can be approved, and cuts it later until it is expanded', async () => {
    const plan = Array.from({ length: 40 }, (_, index) => `${index + 1}. Step`).join('\n');
    const branch = 'main\n'.repeat(40);
    await publish(gateway, 'long', 'plan_requested', { title: 'Long', payload: propose(plan, { branch }) });
    const page = await openFor('long');
    const button = (name: string) => card(page, 'Long').getByRole('button', { name });
    const height = async () => (await page.locator('.wa-markdown').locator('..').boundingBox())?.height ?? 0;
    await page.locator('.wa-markdown').waitFor();
    const whole = await height();
    expect(await page.locator('.wa-cut').count()).toBe(0);
    expect(await button('Show all').count()).toBe(0);
    await button('Approve').focus();
    await page.getByRole('button', { name: 'Approve', disabled: false }).waitFor();
    await page.keyboard.press('Enter');
    await card(page, 'Long').getByText('By long in an app').waitFor();
    // What the user has just read does not collapse.
    expect(await height()).toBe(whole);
    await button('Show less').first().click();
    expect(await height()).toBeLessThan(whole / 3);

    await page.reload();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await button('Show all').first().waitFor();
    expect(await page.locator('.wa-cut').count()).toBe(2);
    await button('Show all').first().click();
    expect(await height()).toBe(whole);
  });
});
