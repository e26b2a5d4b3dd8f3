import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderMarkdown } from '../../src/pages/markdown.ts';
import { recordedBody, sendHook } from '../support/agents.ts';
import {
  type AnsweringGateway,
  decide,
  openLink,
  publishByMail,
  sendForm,
  startAnsweringGateway,
} from '../support/answer-page.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { dismiss } from '../support/inbox.ts';
import { resolve } from '../support/records.ts';
import { answer, answers, readNotification } from '../support/requests.ts';

let gateway: AnsweringGateway;
beforeAll(async () => {
  gateway = await startAnsweringGateway();
});
afterAll(() => gateway.close());

const question = { question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] };

const read = async (userId: string, id: string) => (await readNotification(gateway, userId, id)).request;

test('a mail links to the page, and warns that anyone who has the link can answer', async () => {
  const { link } = await publishByMail(gateway, 'mail');
  const { text, html } = gateway.mails.at(-1)?.parsed ?? {};
  const warning = 'Anyone who has this link can answer. Do not forward this email.';
  expect(text).toContain(`Read and answer: ${link}\n(${warning})`);
  expect(html).toContain(`<a href="${link}">Read and answer</a></strong><br><small>${warning}`);
  const parts = link.split('/').at(-1)?.split('.') ?? [];
  expect(parts.map((part) => Buffer.from(part, 'base64url').toString()).join()).not.toMatch(/mail|example/);
});

describe('with ANSWER_LINKS=questions', () => {
  let questions: AnsweringGateway;
  beforeAll(async () => {
    questions = await startAnsweringGateway({ ANSWER_LINKS: 'questions' });
  });
  afterAll(() => questions.close());

  /** Asks by a hook, and returns the text of the mail. */
  async function askByHook(agent: string, tool: string): Promise<string> {
    const userId = `${agent}-${tool}`;
    await putContact(questions, userId, { email: `${userId}@example.com` });
    await sendHook(questions, recordedBody(agent, tool), { userId, agent, call: 'call-1', wait: '0' });
    return eventually(() => {
      const mail = questions.mails.find(({ to }) => to.includes(`${userId}@example.com`));
      if (mail?.parsed.text === undefined) throw new Error('No mail arrived.');
      return mail.parsed.text;
    });
  }

  test.each([
    ['claude', 'Bash'],
    ['claude', 'ExitPlanMode'],
    ['codex', 'Bash'],
  ])('no mail about a call that the user approves links to the page (%s, %s)', async (agent, tool) => {
    const text = await askByHook(agent, tool);
    expect(text).toContain('https://app.example.com/inbox/');
    expect(text).not.toContain('/answer/');
  });

  test('one about a question of an agent does', async () => {
    expect(await askByHook('claude', 'AskUserQuestion')).toContain(`${questions.address}/answer/`);
  });

  test('and one of a platform that names a tool like a permission request', async () => {
    const payload = { questionRequested: { toolId: 'permission.1', input: { questions: [question] } } };
    const { link } = await publishByMail(questions, 'platform', 'question_requested', { payload });
    expect((await sendForm(link, { 'choice-0': '0' })).status).toBe(200);
  });
});

describe('GET', () => {
  test('shows who asks, until when, what happens without an answer, and a form without a choice', async () => {
    const expiresAt = `${new Date().getUTCFullYear() + 1}-01-01T10:00:00.000Z`;
    const { link } = await publishByMail(gateway, 'reader', 'plan_requested', {
      task: { id: 't-1', projectId: 'p-1', name: 'Dark mode' },
      projectName: 'Web shop',
      expiresAt,
      onExpiry: { plan: { decision: 'REJECT', feedback: 'Too late' } },
      payload: {
        planRequested: {
          toolId: 't',
          input: {
            summary: 'In **short**',
            plan: '1. Do it',
            files: ['a.ts', '<b>.ts'],
            risk: 'none',
            questions: ['And drop the database'],
          },
        },
      },
    });
    const { status, page, headers } = await openLink(link);
    expect(status).toBe(200);
    for (const part of [
      ...['<h1>A title</h1>', '<dd>Dark mode</dd>', '<dd>Web shop</dd>'],
      `<time datetime="${expiresAt}">January 1, ${expiresAt.slice(0, 4)} at 10:00`,
      ...['<strong>Reject</strong>', 'Too late', '<p>In <strong>short</strong></p>', '<li>Do it</li>'],
      ...['&quot;&lt;b&gt;.ts&quot;', '<h2>risk</h2><pre>none</pre>', '<pre>In **short**</pre>'],
      '<h2>questions</h2><pre>[\n  &quot;And drop the database&quot;\n]</pre>',
      'href="https://app.example.com/inbox/',
      '<p class="note">Anyone who has the link to this page can answer. Do not pass it on.</p>',
    ])
      expect(page).toContain(part);
    expect(page.match(/<input type="radio" required/g)).toHaveLength(3);
    expect(page.match(/<button>/g)).toHaveLength(1);
    expect(page).not.toMatch(/ checked|<script|<img|javascript:|reader/);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-robots-tag': 'noindex',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      ),
    });
  });

  test('is in German for readers who prefer it', async () => {
    const { link } = await publishByMail(gateway, 'leserin', 'plan_requested', { expiresInSeconds: 3600 });
    const { page } = await openLink(link, { headers: { 'Accept-Language': 'de-CH, en;q=0.5' } });
    expect(page).toMatch(
      /<html lang="de">[\s\S]*Eine Aufgabe braucht Ihre Antwort[\s\S]*Nichts wird entschieden[\s\S]*Antwort senden/,
    );
    expect((await openLink(link, { headers: { 'Accept-Language': 'fr' } })).page).toContain(
      '<html lang="en">',
    );
  });
});

describe('POST', () => {
  test('stores the answer once: a repeated form joins, and another choice shows the winner', async () => {
    const { id, link } = await publishByMail(gateway, 'alice');
    const first = await sendForm(link, { ...decide.approve, 'text-0': 'Mind\r\nthe tests' });
    expect([first.status, first.page]).toEqual([200, expect.stringContaining('Your answer is stored')]);
    const stored = await read('alice', id);
    const expected = {
      via: 'EMAIL',
      by: 'alice',
      plan: { decision: 'APPROVE', feedback: 'Mind\nthe tests' },
    };
    expect(stored).toMatchObject({ state: 'ANSWERED', answer: expected });

    expect((await sendForm(link, { ...decide.approve, 'text-0': 'Mind\r\nthe tests' })).status).toBe(200);
    const other = await sendForm(link, decide.reject);
    expect(other.status).toBe(409);
    expect(other.page).toMatch(
      /What you sent was not stored[\s\S]*<strong>Approve<\/strong>[\s\S]*alice, by link in a mail/,
    );
    expect(await read('alice', id)).toEqual(stored);
    expect((await openLink(link)).page).toMatch(/<h1>Answered<\/h1>[\s\S]*Mind\nthe tests/);
  });

  const asked = {
    payload: {
      questionRequested: {
        toolId: 't',
        input: {
          questions: [
            {
              question: 'Which?',
              header: 'One',
              options: [
                { label: 'A', description: 'a' },
                { label: 'B', preview: 'b < c' },
              ],
            },
            { question: 'Which ones?', options: [{ label: 'C' }, { label: 'D' }], multiSelect: true },
            { question: 'Why?', options: [] },
          ],
        },
      },
    },
  };

  /* Each row is what is sent: the choices and texts of the questions, by their index. */
  test.each<[what: string, form: string, answer?: unknown[]]>([
    ['an option of each', 'choice-0=1&choice-1=0&text-2=So', [[1], null, [0], null]],
    ['several', 'choice-0=0&choice-1=1&choice-1=0&text-2=So', [[0], null, [0, 1], null]],
    ['own texts', 'choice-0=2&text-0=E&choice-1=0&text-1=F&text-2=So', [[], 'E', [0], 'F']],
    ['nothing', ''],
    ['no choice', 'choice-1=0&text-2=So'],
    ['two where one is allowed', 'choice-0=0&choice-0=1&choice-1=0&text-2=So'],
    ['an option and a text', 'choice-0=0&text-0=E&choice-1=0&text-2=So'],
    ['another answer without a text', 'choice-0=2&choice-1=0&text-2=So'],
    ['an unknown option', 'choice-0=7&choice-1=0&text-2=So'],
    ['what is no index', 'choice-0=-1&choice-1=&text-2=So'],
    ['a blank text', 'choice-0=0&choice-1=0&text-2=%20%0D%0A'],
  ])('of %s to questions', async (what, form, expected) => {
    const userId = what.replaceAll(' ', '-');
    const { id, link } = await publishByMail(gateway, userId, 'question_requested', asked);
    const sent = new URLSearchParams(form);
    const { status, page } = await sendForm(link, sent);
    const request = await read(userId, id);
    if (expected !== undefined) {
      expect(status).toBe(200);
      const [first, second, third] = request.answer.questions;
      expect([first.options, first.other, second.options, second.other]).toEqual(expected);
      expect(third).toMatchObject({ question: 'Why?', options: [], other: 'So' });
    } else {
      expect([status, request.state]).toEqual([422, 'OPEN']);
      for (const part of [
        ...[
          'role="alert"',
          '<fieldset class="marked">\n    <legend class="text"><strong>Please complete:</strong> ',
          'A<br><small>a</small></span></label>\n    \n',
        ],
        'B</span></label>\n    <pre>b &lt; c</pre>',
      ])
        expect(page).toContain(part);
      // What was sent is kept.
      if (sent.get('text-2') === 'So') expect(page).toContain('\nSo</textarea>');
      if (sent.get('choice-1') === '0')
        expect(page).toMatch(/type="checkbox" name="choice-1" value="0" checked/);
    }
  });

  test('stores a reply', async () => {
    const { id, link } = await publishByMail(gateway, 'replies', 'task_response_ready');
    expect((await sendForm(link, {})).status).toBe(422);
    expect((await sendForm(link, { 'text-0': 'Go\0 on' })).status).toBe(200);
    expect(await read('replies', id)).toMatchObject({ answer: { via: 'EMAIL', reply: { text: 'Go on' } } });
  });
});

describe('too late', () => {
  const expiring = { expiresInSeconds: 2 };
  const waitForExpiry = (link: string) =>
    eventually(async () => expect((await openLink(link)).page).not.toContain('<form'));
  type Settle = (userId: string, id: string, link: string) => Promise<unknown>;
  test.each<[what: string, input: Record<string, unknown>, settle: Settle, shown: RegExp]>([
    [
      'answered in an app',
      {},
      (userId, id) => answer(gateway, userId, { id, ...answers.reject }),
      /Answered[\s\S]*<strong>Reject<\/strong><\/p><pre>Too large[\s\S]*in an app/,
    ],
    [
      'expired',
      expiring,
      (_userId, _id, link) => waitForExpiry(link),
      /Expired without an answer[\s\S]*Nobody approved or refused anything/,
    ],
    [
      'expired with a default',
      { ...expiring, onExpiry: { plan: { decision: 'APPROVE' } } },
      (_userId, _id, link) => waitForExpiry(link),
      /Answered[\s\S]*<strong>Approve<\/strong>[\s\S]*automatically, when the time is up/,
    ],
    [
      'withdrawn',
      { task: { id: 'gone', projectId: 'p' } },
      (userId) => resolve(gateway, userId, 'gone'),
      /Withdrawn[\s\S]*Nobody approved or refused anything/,
    ],
  ])('shows a request that was %s, and stores nothing', async (what, input, settle, shown) => {
    const userId = `late-${what.replaceAll(' ', '-')}`;
    const { id, link } = await publishByMail(gateway, userId, 'plan_requested', input);
    await settle(userId, id, link);
    // By GET first: an expiry need not be stored yet.
    for (const { status, page } of [
      await openLink(link),
      await sendForm(link, decide.approve),
      await openLink(link),
    ]) {
      expect([200, 409]).toContain(status);
      expect(page).toMatch(shown);
      expect(page.replace('<strong>Reject</strong>', '')).not.toMatch(/denied|rejected|<form/i);
    }
    const { answer: stored } = await read(userId, id);
    expect(stored?.via).not.toBe('EMAIL');
  });

  test('a dismissed request can still be answered', async () => {
    const { id, link } = await publishByMail(gateway, 'dismisses');
    await dismiss(gateway, 'dismisses', [id]);
    expect((await sendForm(link, decide.change)).status).toBe(200);
    expect(await read('dismisses', id)).toMatchObject({ state: 'ANSWERED', answer: { via: 'EMAIL' } });
  });
});

describe('Markdown', () => {
  test.each([
    [
      'formatting',
      '# A\n\n*b* **c** `d`\n\n- e\n\n3. f',
      '<h1>A</h1>\n<p><em>b</em> <strong>c</strong> <code>d</code></p>\n<ul>\n<li>e</li>\n</ul>\n<ol start="3">\n<li>f</li>\n</ol>\n',
    ],
    [
      'a link with its host',
      '[here](https://a@b.example/c?d "e")',
      '<p><a href="https://a@b.example/c?d" rel="noreferrer nofollow">here</a> (b.example)</p>\n',
    ],
    [
      'a link that looks like another',
      '[https://good.example](https://evil.example)',
      '<p><a href="https://evil.example" rel="noreferrer nofollow">https://good.example</a> (evil.example)</p>\n',
    ],
    [
      'an address',
      '[m](mailto:a@b.example)',
      '<p><a href="mailto:a@b.example" rel="noreferrer nofollow">m</a> (a@b.example)</p>\n',
    ],
    ['a script', '<script>alert(1)</script>', '<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n'],
    ['an unsafe link', '[a](javascript:alert(1))', '<p>[a](javascript:alert(1))</p>\n'],
    ['a link of the page', '[a](/answer/x)', '<p>[a](/answer/x)</p>\n'],
    [
      'an image',
      '![a](https://b.example/c.png)',
      '<p>!<a href="https://b.example/c.png" rel="noreferrer nofollow">a</a> (b.example)</p>\n',
    ],
    [
      'a table without styles',
      '|a|\n|:-:|',
      '<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n</table>\n',
    ],
    ['what reorders text', 'a\u202eb', '<p>a[U+202E]b</p>\n'],
  ])('shows %s', (_what, text, shown) => {
    expect(renderMarkdown(text, true).text).toBe(shown);
  });

  test('of a task token has no links', () => {
    expect(renderMarkdown('[a](https://b.example) <https://c.example>', false).text).toBe(
      '<p>[a](https://b.example) &lt;https://c.example&gt;</p>\n',
    );
  });

  test('never contains other tags and attributes than these, whatever the text', () => {
    const part = fc.oneof(
      arbitraryCharacter,
      fc.constantFrom(...'<>"\'&)|*`\\\n'),
      fc.constantFrom('[', '](', '![', '```\n', '> ', '- ', '|-|\n', ' "', '&lt;', '<!--'),
      fc.constantFrom('<a href="', 'javascript:', 'https://a.example/', 'onclick=', 'data:'),
    );
    const TAG =
      /<\/?(p|h[1-6]|em|strong|s|code|pre|ul|li|blockquote|hr|br|table|thead|tbody|tr|th|td)>|<ol( start="\d+")?>|<\/(ol|a)>|<a href="(https?:\/\/|mailto:)[^"<>]*" rel="noreferrer nofollow">/gi;
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), fc.boolean(), (parts, hasLinks) => {
        const rest = renderMarkdown(parts.join(''), hasLinks).text.replace(TAG, '');
        expect(rest).not.toMatch(/[<>]|&(?!amp;|lt;|gt;|quot;|#39;)/);
      }),
      { numRuns: 500 },
    );
  });

  test('is parsed in bounded time', () => {
    const start = performance.now();
    for (const text of ['*a ', '_a', '> ', '[', '|a\n|-\n', '- '])
      renderMarkdown(text.repeat(30_000).slice(0, 20_000), true);
    expect(performance.now() - start).toBeLessThan(5000);
    expect(renderMarkdown('*a '.repeat(10_000), true).text).toMatch(/^<pre>\*a /);
  });
});
