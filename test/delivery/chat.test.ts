import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Channel } from '../../src/delivery/channel.ts';
import { classifyReply } from '../../src/delivery/chat/chat-api.ts';
import { type ChatTarget, createChatChannel } from '../../src/delivery/chat/chat-channel.ts';
import { formatMessage, formatSettledMessage } from '../../src/delivery/chat/chat-text.ts';
import { Secret } from '../../src/values/secret.ts';
import { toLine } from '../../src/values/text.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { type ChatAnswer, type ChatApi, startChatApi } from '../support/chat-api.ts';
import { formatOutcome, message } from './providers.ts';

const NOW = Date.parse('2026-05-04T10:00:00.000Z');
const never = new AbortController().signal;

describe('the text of a message', () => {
  const title = '*Add a login page*';
  const end = ['', 'Login · web-shop', '<https://app.example.com/inbox/n-1|Open>'];

  const bare = { ...message, title: '', details: null, task: '', project: '', url: null };

  test.each<[what: string, text: string, lines: string[]]>([
    [
      'has title, request, details, task, project and a link',
      formatMessage(message),
      [title, 'A plan needs your approval.', '', '1. Add a form', '2. Test it', ...end],
    ],
    ['omits what the notification does not have', formatMessage(bare), ['A plan needs your approval.']],
    [
      'may have a project only',
      formatMessage({ ...bare, project: 'web-shop' }),
      ['A plan needs your approval.', '', 'web-shop'],
    ],
    [
      'keeps title and link, but not the details, of a notification that is settled',
      formatSettledMessage(message),
      [title, 'Done: this no longer needs your attention.', ...end],
    ],
  ])('%s', (_what, text, lines) => expect(text).toBe(lines.join('\n')));

  test.each([
    ['a mention of everyone', '<!channel>', '&lt;!channel&gt;'],
    ['a link', '<https://evil.example|Open>', '&lt;https://evil.example|Open&gt;'],
    ['bold, italic and struck text', '*a* _b_ ~c~', '∗a∗ ˍbˍ ∼c∼'],
    ['code', '```\n`x`', 'ˋˋˋ\nˋxˋ'],
    ['characters within words', 'snake_case 2*3 Grüße_an', 'snake_case 2*3 Grüße_an'],
  ])('does not interpret %s', (_what, details, expected) => {
    expect(formatMessage({ ...message, details })).toContain(`\n\n${expected}\n\n`);
  });

  test('has a bold title, and encodes the characters that would end a link', () => {
    const text = formatMessage({ ...message, title: 'a *b* <c>', url: 'https://a.example/a|b>c?x=1&y=<2' });

    expect(text).toMatch(/^\*a ∗b∗ &lt;c&gt;\*\n/);
    expect(text).toMatch(/<https:\/\/a\.example\/a%7Cb%3Ec\?x=1&amp;y=%3C2\|Open>$/);
  });

  test('cuts details between characters', () => {
    const text = formatMessage({ ...message, details: '😀'.repeat(3000) });

    expect(text).toMatch(/😀…\n\n/);
    expect(text.isWellFormed()).toBe(true);
    expect(text.length).toBeLessThan(4000);
  });

  const anyText = fc.oneof(
    fc.string({ unit: arbitraryCharacter, maxLength: 5000 }),
    fc.array(fc.constantFrom('<', '>', '&', '|', '!channel', '*', '`', '\n', '😀', 'a '), {
      maxLength: 3000,
    }),
  );
  const arbitraryText = anyText.map((parts) => (typeof parts === 'string' ? parts : parts.join('')));

  test('contains only its own markup, and stays below the limit at which Slack truncates', () => {
    const arbitraryName = arbitraryText.map(toLine);
    const arbitraryMessage = fc.record({
      title: arbitraryText.map(toLine),
      request: arbitraryText.map(toLine),
      details: fc.option(arbitraryText),
      task: arbitraryName,
      project: arbitraryName,
      url: fc.constantFrom(
        null,
        'https://app.example.com/<!channel>/|',
        `https://a.example/${'a'.repeat(3000)}`,
      ),
    });
    fc.assert(
      fc.property(arbitraryMessage, (parts) => {
        for (const text of [formatMessage, formatSettledMessage].map((format) =>
          format({ ...message, ...parts }),
        )) {
          const withoutLink = text.replace(/<https:\/\/[^<>|\s]+\|Open>$/, '');
          expect(withoutLink).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
          expect(withoutLink.split('\n').slice(1).join('\n')).not.toMatch(/(^|\s)[*_~`]/u);
          expect(text.length).toBeLessThan(40_000);
        }
      }),
    );
  });
});

type Reply = { status?: number; retryAfter?: string | null };

/** Classifies a reply; an object is its body, as JSON. */
const classify = (body: object | string, { status = 200, retryAfter = null }: Reply = {}) =>
  formatOutcome(
    classifyReply(
      { kind: 'reply', status, retryAfter, body: typeof body === 'string' ? body : JSON.stringify(body) },
      NOW,
    ),
  );
const replyLost = 'retry reply_lost';

describe('the outcome of a reply', () => {
  test.each<[what: string, body: object, outcome: string]>([
    ['a receipt', { ok: true, channel: 'D1', ts: '1.5' }, 'delivered D1 1.5'],
    ['no timestamp', { ok: true, channel: 'D1' }, 'delivered'],
    ['a channel with a space', { ok: true, channel: 'D 1', ts: '1.5' }, 'delivered'],
    ['no error', { ok: false }, 'failed message_rejected unknown_error'],
    ['a sentence', { ok: false, error: 'alice is unknown' }, 'failed message_rejected unknown_error'],
  ])('with %s', (_what, body, outcome) => {
    expect(classify(body)).toBe(outcome);
  });

  /* The outcome of each error, whose code it contains. */
  test.each([
    [
      'failed recipient_rejected CODE suspendTarget',
      'channel_not_found user_not_found cannot_dm_bot is_archived not_in_channel user_disabled user_not_visible',
    ],
    [
      'unavailable provider_refused CODE needsOperator',
      `invalid_auth not_authed account_inactive token_expired token_revoked missing_scope org_login_required
       ekm_access_denied two_factor_setup_required not_allowed_token_type method_deprecated unknown_method`,
    ],
    [
      'retry provider_refused CODE',
      'access_denied messages_tab_disabled no_permission restricted_action team_access_not_granted',
    ],
    ['failed message_rejected CODE', 'msg_too_long no_text invalid_arguments never_documented'],
    ['unavailable rate_limited CODE', 'ratelimited rate_limited message_limit_exceeded'],
    ['unavailable provider_unavailable CODE isUnclear', 'internal_error fatal_error'],
    ['unavailable provider_unavailable CODE', 'request_timeout service_unavailable'],
  ])('%s', (outcome, errors) => {
    for (const error of errors.split(/\s+/))
      expect(classify({ ok: false, error })).toBe(outcome.replace('CODE', error));
  });

  test.each<[outcome: string, statuses: number[], body?: object]>([
    ['unavailable rate_limited HTTP STATUS', [429]],
    ['unavailable rate_limited unexpected', [429], { ok: false, error: 'unexpected' }],
    ['unavailable provider_unavailable HTTP STATUS isUnclear', [500, 502, 504]],
    ['unavailable provider_unavailable invalid_auth isUnclear', [500], { ok: false, error: 'invalid_auth' }],
    ['unavailable provider_unavailable HTTP STATUS', [408, 501, 503]],
    ['unavailable provider_refused HTTP STATUS needsOperator', [301, 302, 307, 400, 401, 403, 404]],
  ])('%s', (outcome, statuses, body) => {
    for (const status of statuses)
      expect(classify(body ?? '<html>', { status })).toBe(outcome.replace('STATUS', `${status}`));
  });

  test.each(['', '<html>', '{"ok":true,"chan', '[true]', 'null'])('%j with status 200 is lost', (body) => {
    expect(classify(body)).toBe(replyLost);
  });

  test('waits for the Retry-After of a failure', () => {
    const wait = (error: string) => classify({ ok: false, error }, { retryAfter: '30' });
    expect(wait('ratelimited')).toBe('unavailable rate_limited ratelimited after 30 s');
    expect(wait('request_timeout')).toBe('unavailable provider_unavailable request_timeout after 30 s');
  });

  test('has a short code for any reply', () => {
    const arbitraryReply = fc.record({
      status: fc.integer({ min: 200, max: 599 }),
      retryAfter: fc.option(fc.string()),
      body: fc.oneof(
        fc.string(),
        fc.json(),
        fc.string().map((error) => JSON.stringify({ ok: false, error })),
      ),
    });
    fc.assert(
      fc.property(arbitraryReply, (reply) => {
        const outcome = classifyReply({ kind: 'reply', ...reply }, NOW);
        const code = outcome.kind === 'delivered' ? null : outcome.providerCode;
        expect(code ?? 'none').toMatch(/^(\w{1,64}|HTTP \d{3})$/);
      }),
    );
  });
});

describe('the channel', () => {
  let api: ChatApi;
  let channel: Channel<ChatTarget>;
  beforeEach(async () => {
    api = await startChatApi();
    channel = open(api.url);
  });
  afterEach(async () => {
    await channel.close();
    await api.close();
  });

  const open = (apiUrl: string) =>
    createChatChannel({ apiUrl, token: new Secret('chat-token'), signingSecret: null });
  const member = { memberId: 'U012AB3CD' };
  const send = async (signal = never, sender = channel) =>
    formatOutcome(await sender.send(message, member, signal));
  const update = async (receipt: string) =>
    formatOutcome((await channel.update?.(message, member, receipt, never)) ?? expect.unreachable());

  test('posts to the member, with the token in a header, and without previews or mentions', async () => {
    expect(await send()).toBe(`delivered DU012AB3CD ${api.messages[0]?.ts}`);
    expect(api.messages).toMatchObject([{ memberId: 'U012AB3CD', text: formatMessage(message) }]);
    expect(api.calls).toMatchObject([
      {
        method: 'chat.postMessage',
        headers: {
          authorization: 'Bearer chat-token',
          'content-type': 'application/json; charset=utf-8',
        },
        parameters: { parse: 'none', link_names: false, unfurl_links: false },
      },
    ]);
  });

  test('replaces the text of a delivered message in its channel', async () => {
    await send();
    const receipt = `DU012AB3CD ${api.messages[0]?.ts}`;

    expect(await update(receipt)).toBe(`delivered ${receipt}`);
    expect(api.messages).toMatchObject([{ updates: [formatSettledMessage(message)] }]);
  });

  test.each<[what: string, answer: ChatAnswer, outcome: string]>([
    ['an error of the API', { error: 'msg_too_long' }, 'failed message_rejected msg_too_long'],
    ['a reply that is cut', 'cut reply', replyLost],
    ['a reply that is too large', { status: 200, body: `{"ok":true${' '.repeat(300_000)}}` }, replyLost],
    [
      'a redirect',
      { status: 307, body: '', headers: { Location: '/redirected/chat.postMessage' } },
      'unavailable provider_refused HTTP 307 needsOperator',
    ],
  ])('reports %s', async (_what, answer, outcome) => {
    api.answer(answer);

    expect(await send()).toBe(outcome);
    expect(api.calls).toHaveLength(1);
  });

  const tokenRefused = 'unavailable provider_refused account_inactive needsOperator';

  test.each<[whose: string, check: ChatAnswer, outcome: string]>([
    [
      "is the member's if another call accepts the token",
      'ok',
      'failed recipient_rejected account_inactive suspendTarget',
    ],
    ["is the token's if it is refused again", { error: 'account_inactive' }, tokenRefused],
    ["counts as the token's if the check has an unknown result", { error: 'odd' }, tokenRefused],
    ['is undecided if the reply to the check is lost', 'cut reply', replyLost],
  ])('an inactive account %s', async (_whose, check, outcome) => {
    api.answer({ error: 'account_inactive' }, check);

    expect(await send()).toBe(outcome);
    expect(api.calls.map(({ method }) => method)).toEqual(['chat.postMessage', 'auth.test']);
  });

  test('reports a reply as lost when the timeout expires, and does not send after it', async () => {
    const release = api.hold();
    const timeout = new AbortController();
    const called = api.nextCall();
    const sent = send(timeout.signal);
    await called;
    timeout.abort();

    expect(await sent).toBe('unavailable reply_lost');
    release();
    expect(await send(timeout.signal)).toMatch(/^unavailable/);
    expect(api.calls).toHaveLength(1);
  });

  test('reports an API that is unreachable or does not use TLS', async () => {
    const notTls = await send(never, open(api.url.replace('http:', 'https:')));
    expect(notTls).toMatch(/^unavailable provider_unavailable (EPROTO|ERR_SSL_\w+)$/);
    await api.close();
    expect(await send()).toBe('unavailable provider_unavailable ECONNREFUSED');
  });

  test.each<[answers: ChatAnswer[], outcome: string]>([
    [[{ error: 'edit_window_closed' }], 'failed message_rejected edit_window_closed'],
    [[{ error: 'channel_not_found' }], 'failed recipient_rejected channel_not_found'],
    [[{ error: 'account_inactive' }, 'ok'], 'failed recipient_rejected account_inactive'],
  ])('does not suspend the member if an update fails: %j', async (answers, outcome) => {
    api.answer(...answers);
    expect(await update('D1 1.5')).toBe(outcome);
  });

  test.each(['', 'D1', 'D1 1.5 2'])('updates no message with the receipt "%s"', async (receipt) => {
    expect(await update(receipt)).toMatch(/^failed \S+( \S+)?$/);
    expect(api.calls).toEqual([]);
  });
});
