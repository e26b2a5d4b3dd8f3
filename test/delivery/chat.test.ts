import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Channel } from '../../src/delivery/channel.ts';
import { classifyReply } from '../../src/delivery/chat/chat-api.ts';
import { type ChatTarget, createChatChannel } from '../../src/delivery/chat/chat-channel.ts';
import { formatMessage, formatSettledMessage } from '../../src/delivery/chat/chat-text.ts';
import type { Message } from '../../src/delivery/message.ts';
import type { AttemptOutcome } from '../../src/delivery/outcome.ts';
import { Secret } from '../../src/values/secret.ts';
import { toLine } from '../../src/values/text.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';
import { type ChatAnswer, type ChatApi, startChatApi } from '../support/chat-api.ts';

const message: Message = {
  userId: 'alice',
  notificationId: 'n-1',
  kind: 'plan_requested',
  title: 'Add dark mode',
  request: 'A plan needs your approval.',
  details: 'Change the theme.\nTest it.',
  questions: [],
  taskName: 'Dark mode',
  projectName: 'web-shop',
  occurredAt: '2026-05-04T10:00:00.000Z',
  expiresAt: '2026-05-05T10:00:00.000Z',
  url: 'https://app.example.com/inbox/n-1',
};

const NOW = Date.parse('2026-05-04T10:00:00.000Z');
const member = { memberId: 'U012AB3CD' };
const never = new AbortController().signal;
const createChannel = (apiUrl: string, token = 'chat-token') =>
  createChatChannel({ apiUrl, token: new Secret(token), signingSecret: null });

const refused = (providerCode: string): AttemptOutcome => ({
  kind: 'unavailable',
  needsOperator: true,
  reason: 'provider_refused',
  providerCode,
});
const unavailable = (providerCode: string | null): AttemptOutcome => ({
  kind: 'unavailable',
  needsOperator: false,
  reason: 'provider_unavailable',
  providerCode,
});
/** The message may have been posted before the failure. */
const unclear = (providerCode: string): AttemptOutcome => ({
  kind: 'unavailable',
  needsOperator: false,
  reason: 'provider_unavailable',
  providerCode,
  isUnclear: true,
});
const limited = (providerCode: string, retryAfterSeconds?: number): AttemptOutcome => ({
  kind: 'unavailable',
  needsOperator: false,
  reason: 'rate_limited',
  providerCode,
  ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
});
const rejectedMember = (providerCode: string): AttemptOutcome => ({
  kind: 'failed',
  suspendTarget: true,
  reason: 'recipient_rejected',
  providerCode,
});
const rejectedMessage = (providerCode: string): AttemptOutcome => ({
  kind: 'failed',
  suspendTarget: false,
  reason: 'message_rejected',
  providerCode,
});
const replyLost: AttemptOutcome = { kind: 'retry', reason: 'reply_lost', providerCode: null };

describe('the text of a message', () => {
  test('contains title, request, details, task, project and a link', () => {
    expect(formatMessage(message)).toBe(
      [
        '*Add dark mode*',
        'A plan needs your approval.',
        '',
        'Change the theme.',
        'Test it.',
        '',
        'Dark mode · web-shop',
        '<https://app.example.com/inbox/n-1|Open>',
      ].join('\n'),
    );
  });

  test('omits what the notification does not have', () => {
    const bare = { ...message, title: '', details: null, taskName: null, projectName: null, url: null };

    expect(formatMessage(bare)).toBe('A plan needs your approval.');
    expect(formatMessage({ ...bare, projectName: 'web-shop' })).toBe(
      'A plan needs your approval.\n\nweb-shop',
    );
  });

  test('keeps the title and the link, but not the details, when the notification is settled', () => {
    expect(formatSettledMessage(message)).toBe(
      [
        '*Add dark mode*',
        'Done: this no longer needs your attention.',
        '',
        'Dark mode · web-shop',
        '<https://app.example.com/inbox/n-1|Open>',
      ].join('\n'),
    );
  });

  test.each([
    ['a mention of everyone', '<!channel>', '&lt;!channel&gt;'],
    ['a mention of a member', 'Ask <@U999>', 'Ask &lt;@U999&gt;'],
    ['a link', '<https://evil.example|Open>', '&lt;https://evil.example|Open&gt;'],
    ['an escaped mention', '&lt;!here&gt;', '&amp;lt;!here&amp;gt;'],
    ['bold, italic and struck text', '*a* _b_ ~c~', '∗a∗ ˍbˍ ∼c∼'],
    ['code', '```\n`x`', 'ˋˋˋ\nˋxˋ'],
    ['characters within words', 'snake_case 2*3 Grüße_an', 'snake_case 2*3 Grüße_an'],
  ])('does not interpret %s', (_what, details, expected) => {
    expect(formatMessage({ ...message, details })).toContain(`\n\n${expected}\n\n`);
  });

  test('has a bold title', () => {
    const [first] = formatMessage({ ...message, title: 'a *b* <c>' }).split('\n');

    expect(first).toBe('*a ∗b∗ &lt;c&gt;*');
  });

  test('encodes the characters that would end a link', () => {
    const url = 'https://app.example.com/a|b>c?x=1&y=<2';

    expect(formatMessage({ ...message, url })).toContain(
      '<https://app.example.com/a%7Cb%3Ec?x=1&amp;y=%3C2|Open>',
    );
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
    const arbitraryName = fc.option(arbitraryText.map(toLine));
    const arbitraryMessage = fc.record({
      title: arbitraryText.map(toLine),
      request: arbitraryText.map(toLine),
      details: fc.option(arbitraryText),
      taskName: arbitraryName,
      projectName: arbitraryName,
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

const json = (body: object, status = 200, retryAfter: string | null = null) =>
  classifyReply({ kind: 'reply', status, retryAfter, body: JSON.stringify(body) }, NOW);
const plain = (status: number, body = '') =>
  classifyReply({ kind: 'reply', status, retryAfter: null, body }, NOW);

describe('the outcome of a reply', () => {
  test('returns delivered with the channel and timestamp of the message', () => {
    expect(json({ ok: true, channel: 'D1', ts: '1.5' })).toEqual({ kind: 'delivered', receipt: 'D1 1.5' });
  });

  test.each([
    ['no timestamp', { ok: true, channel: 'D1' }],
    ['a timestamp that is not a string', { ok: true, channel: 'D1', ts: 5 }],
    ['a channel with a space', { ok: true, channel: 'D 1', ts: '1.5' }],
  ])('returns delivered without receipt for %s', (_what, body) => {
    expect(json(body)).toEqual({ kind: 'delivered' });
  });

  test.each([
    'channel_not_found',
    'user_not_found',
    'cannot_dm_bot',
    'is_archived',
    'not_in_channel',
    'user_disabled',
    'user_not_visible',
  ])('suspends the member for %s', (error) => {
    expect(json({ ok: false, error })).toEqual(rejectedMember(error));
  });

  test.each([
    'invalid_auth',
    'not_authed',
    'account_inactive',
    'token_expired',
    'token_revoked',
    'missing_scope',
    'org_login_required',
    'ekm_access_denied',
    'two_factor_setup_required',
    'not_allowed_token_type',
    'method_deprecated',
    'unknown_method',
  ])('returns a refusal that needs an operator for %s', (error) => {
    expect(json({ ok: false, error })).toEqual(refused(error));
  });

  test.each([
    'access_denied',
    'messages_tab_disabled',
    'no_permission',
    'restricted_action',
    'team_access_not_granted',
  ])('retries only this message for %s', (error) => {
    const outcome = { kind: 'retry', reason: 'provider_refused', providerCode: error };
    expect(json({ ok: false, error })).toEqual(outcome);
  });

  test.each([
    ['ratelimited', 200],
    ['rate_limited', 200],
    ['message_limit_exceeded', 200],
    ['ratelimited', 429],
    ['unexpected', 429],
  ])('returns rate limited for %s with status %i', (error, status) => {
    expect(json({ ok: false, error }, status)).toEqual(limited(error));
    expect(json({ ok: false, error }, status, '30')).toEqual(limited(error, 30));
    expect(json({ ok: false, error }, status, 'soon')).toEqual(limited(error));
  });

  test('returns rate limited for status 429 without JSON', () => {
    expect(plain(429)).toEqual(limited('HTTP 429'));
  });

  test.each([
    ['internal_error', 200, unclear],
    ['fatal_error', 200, unclear],
    ['service_unavailable', 503, unavailable],
    ['request_timeout', 200, unavailable],
    ['invalid_auth', 500, unclear],
  ])('returns unavailable for %s with status %i', (error, status, outcome) => {
    expect(json({ ok: false, error }, status)).toEqual(outcome(error));
    const withTime = { ...outcome(error), retryAfterSeconds: 30 };
    expect(json({ ok: false, error }, status, '30')).toEqual(withTime);
  });

  test.each([
    [500, unclear],
    [502, unclear],
    [504, unclear],
    [501, unavailable],
    [503, unavailable],
    [408, unavailable],
  ])('returns unavailable for status %i', (status, outcome) => {
    expect(plain(status, '<html>')).toEqual(outcome(`HTTP ${status}`));
  });

  test.each([301, 302, 307, 400, 401, 403, 404])(
    'returns a refusal that needs an operator for status %i without an error code',
    (status) => {
      expect(plain(status, '<html>')).toEqual(refused(`HTTP ${status}`));
    },
  );

  test.each(['msg_too_long', 'no_text', 'invalid_arguments', 'never_documented'])(
    'rejects the message for %s',
    (error) => {
      expect(json({ ok: false, error })).toEqual(rejectedMessage(error));
    },
  );

  test.each([
    ['missing', { ok: false }],
    ['a sentence', { ok: false, error: 'alice@example.com was not found' }],
    ['too long', { ok: false, error: 'a'.repeat(65) }],
    ['not a string', { ok: false, error: 5 }],
  ])('never contains an error that is %s', (_what, body) => {
    expect(json(body)).toEqual(rejectedMessage('unknown_error'));
  });

  test.each([
    ['an empty body', ''],
    ['HTML', '<html>'],
    ['half of the JSON', '{"ok":true,"chan'],
    ['JSON of another shape', '[true]'],
    ['null', 'null'],
  ])('is unknown for %s with status 200', (_what, body) => {
    expect(plain(200, body)).toEqual(replyLost);
  });

  test('returns an outcome with a short code for any reply', () => {
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
    channel = createChannel(api.url);
  });
  afterEach(async () => {
    await channel.close();
    await api.close();
  });

  const send = (signal = never) => channel.send(message, member, signal);
  const update = (receipt: string) =>
    channel.update?.(message, member, receipt, never) ?? Promise.reject(new Error('No updates.'));

  test('posts to the member, with the token in a header, and without previews or mentions', async () => {
    const outcome = await send();

    expect(outcome).toEqual({ kind: 'delivered', receipt: `DU012AB3CD ${api.messages[0]?.ts}` });
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
    const outcome = await send();
    const receipt = outcome.kind === 'delivered' ? (outcome.receipt ?? '') : '';

    expect(await update(receipt)).toEqual({ kind: 'delivered', receipt });
    expect(api.messages).toMatchObject([{ updates: [formatSettledMessage(message)] }]);
  });

  test.each<[what: string, answer: ChatAnswer, outcome: AttemptOutcome]>([
    [
      'a rate limit',
      { error: 'ratelimited', status: 429, headers: { 'Retry-After': '7' } },
      limited('ratelimited', 7),
    ],
    ['an unknown member', { error: 'channel_not_found' }, rejectedMember('channel_not_found')],
    ['a revoked token', { error: 'token_revoked' }, refused('token_revoked')],
    ['an error of the API', { status: 503, body: 'no' }, unavailable('HTTP 503')],
    ['a refused text', { error: 'msg_too_long' }, rejectedMessage('msg_too_long')],
    ['a reply that is not JSON', { status: 200, body: 'OK' }, replyLost],
    ['a connection that is closed without a reply', 'no reply', replyLost],
    ['a reply that is cut', 'cut reply', replyLost],
    ['a reply that is too large', { status: 200, body: `{"ok":true${' '.repeat(300_000)}}` }, replyLost],
    [
      'a redirect',
      { status: 307, body: '', headers: { Location: '/redirected/chat.postMessage' } },
      refused('HTTP 307'),
    ],
  ])('reports %s', async (_what, answer, outcome) => {
    api.answer(answer);

    expect(await send()).toEqual(outcome);
    expect(api.calls).toHaveLength(1);
  });

  test('converts the date in Retry-After to seconds', async () => {
    const inAMinute = new Date(Date.now() + 60_000).toUTCString();
    api.answer({ error: 'ratelimited', status: 429, headers: { 'Retry-After': inAMinute } });

    const outcome = await send();

    expect(outcome).toMatchObject({ kind: 'unavailable', retryAfterSeconds: expect.any(Number) });
    const seconds = outcome.kind === 'unavailable' ? (outcome.retryAfterSeconds ?? 0) : 0;
    expect(seconds).toBeGreaterThan(50);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  test('returns a refusal that needs an operator if the token is wrong', async () => {
    const other = createChannel(api.url, 'another-token');

    expect(await other.send(message, member, never)).toEqual(refused('invalid_auth'));
    expect(api.messages).toEqual([]);
  });

  test.each<[whose: string, check: ChatAnswer, outcome: AttemptOutcome]>([
    ["is the member's if another call accepts the token", 'ok', rejectedMember('account_inactive')],
    ["is the token's if it is refused again", { error: 'account_inactive' }, refused('account_inactive')],
    ["is the token's if it is revoked meanwhile", { error: 'token_revoked' }, refused('token_revoked')],
    [
      "counts as the token's if the check has an unknown result",
      { error: 'odd' },
      refused('account_inactive'),
    ],
    ['is undecided if the reply to the check is lost', 'cut reply', replyLost],
    ['is undecided while the API is unavailable', { status: 503, body: '' }, unavailable('HTTP 503')],
  ])('an inactive account %s', async (_whose, check, outcome) => {
    api.answer({ error: 'account_inactive' }, check);

    expect(await send()).toEqual(outcome);
    expect(api.calls.map(({ method }) => method)).toEqual(['chat.postMessage', 'auth.test']);
  });

  test('reports a reply as lost when the timeout expires', async () => {
    const release = api.hold();
    const timeout = new AbortController();
    const called = api.nextCall();
    const sent = send(timeout.signal);
    await called;
    timeout.abort();

    expect(await sent).toEqual({ ...unavailable(null), reason: 'reply_lost' });
    release();
  });

  test('does not send if the timeout has already expired', async () => {
    expect(await send(AbortSignal.abort())).toMatchObject({ kind: 'unavailable' });
    expect(api.calls).toEqual([]);
  });

  test('reports that the API is unreachable if the connection is refused', async () => {
    await api.close();

    expect(await send()).toEqual(unavailable('ECONNREFUSED'));
  });

  test('reports that the API is unreachable if its host does not exist', async () => {
    const outcome = await createChannel('http://chat.invalid').send(message, member, never);

    expect(outcome).toEqual(unavailable(expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/)));
  });

  test('reports that the API is unreachable if its port does not use TLS', async () => {
    const outcome = await createChannel(api.url.replace('http:', 'https:')).send(message, member, never);

    expect(outcome).toEqual(unavailable(expect.stringMatching(/^(EPROTO|ERR_SSL_\w+)$/)));
  });

  test.each(['message_not_found', 'cant_update_message', 'edit_window_closed'])(
    'reports %s of an update as a failure that does not concern the member',
    async (error) => {
      api.answer({ error });

      expect(await update('D1 1.5')).toEqual(rejectedMessage(error));
    },
  );

  test('does not suspend a member who left after the message was delivered', async () => {
    api.answer({ error: 'channel_not_found' });
    expect(await update('D1 1.5')).toMatchObject({ kind: 'failed', suspendTarget: false });

    api.answer({ error: 'account_inactive' }, 'ok');
    expect(await update('D1 1.5')).toMatchObject({ kind: 'failed', suspendTarget: false });
  });

  test.each(['', 'D1', 'D1 1.5 2', ' 1.5'])(
    'does not update a message with the receipt "%s"',
    async (receipt) => {
      expect(await update(receipt)).toMatchObject({ kind: 'failed', suspendTarget: false });
      expect(api.calls).toEqual([]);
    },
  );
});
