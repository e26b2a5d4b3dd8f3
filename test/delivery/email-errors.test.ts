import { describe, expect, test } from 'vitest';
import { classifyError, type SmtpError } from '../../src/delivery/email/email-channel.ts';

const retry = { kind: 'retry' };
const failed = { kind: 'failed', suspendTarget: false };
const suspended = { kind: 'failed', suspendTarget: true, reason: 'recipient_rejected' };
const refused = { kind: 'retry', reason: 'provider_refused' };
const waiting = { kind: 'unavailable', needsOperator: false, reason: 'provider_unavailable' };
const operator = { kind: 'unavailable', needsOperator: true, reason: 'provider_refused' };

const codes: Readonly<Record<string, string>> = {
  CONN: 'EPROTOCOL',
  EHLO: 'ECONNECTION',
  STARTTLS: 'ETLS',
  'AUTH PLAIN': 'EAUTH',
};

/** The error of a reply to a command, with the code that nodemailer gives it. */
const reply = (command: string, response: string): SmtpError => ({
  code: codes[command] ?? 'EENVELOPE',
  command,
  response,
});

describe('the outcome of a reply', () => {
  test.each<[command: string, response: string, outcome: object]>([
    ['MAIL FROM', '421 4.7.0 Try later', waiting],
    ['MAIL FROM', '450 4.1.8 Sender domain not found', { ...retry, reason: 'message_rejected' }],
    ['MAIL FROM', '501 5.1.7 Bad sender address syntax', operator],
    ['MAIL FROM', '530 5.7.0 Must issue a STARTTLS command first', operator],
    ['MAIL FROM', '503 Authenticate first', operator],
    ['RCPT TO', '421 4.7.0 Too many recipients', waiting],
    ['RCPT TO', '450 4.1.1 Unverified', { ...retry, reason: 'recipient_rejected' }],
    ['RCPT TO', '503 5.5.1 Bad sequence', { ...retry, reason: 'recipient_rejected' }],
    ['RCPT TO', '530 5.7.1 Authentication required', refused],
    ['RCPT TO', '530 Authentication required', refused],
    ['RCPT TO', '454 4.7.1 Relaying denied', { ...retry, reason: 'recipient_rejected' }],
    ['RCPT TO', '550 5.1.0 Address rejected', suspended],
    ['RCPT TO', '550 5.1.10 Null MX', suspended],
    ['RCPT TO', '553 5.1.3 Bad address syntax', suspended],
    ['RCPT TO', '550-5.1.1 No such user\n550 5.1.1 See the manual', suspended],
    ['RCPT TO', '550 5.1.7 Sender rejected', refused],
    ['RCPT TO', '550 5.1.8 Sender rejected', refused],
    ['RCPT TO', '550 User unknown', { ...failed, reason: 'recipient_rejected' }],
    ['RCPT TO', '554 5.7.1 Relaying denied', refused],
    ['RCPT TO', '553 5.7.1 Sender address rejected: not owned by user', refused],
    ['RCPT TO', '550 5.70.1 Unknown', { ...failed, reason: 'recipient_rejected' }],
    ['DATA', '451 4.7.1 Greylisted', { ...retry, reason: 'message_rejected' }],
    ['DATA', '550 5.1.1 No such user', suspended],
    ['DATA', '550 5.7.1 Spam', refused],
    ['DATA', '550 5.7.26 Unauthenticated sender', refused],
    ['DATA', '554 5.6.0 Invalid content', { ...failed, reason: 'message_rejected' }],
    ['DATA', '250 OK', { ...retry, reason: 'message_rejected' }],
    ['AUTH PLAIN', '535 5.7.8 Wrong password', operator],
    ['AUTH PLAIN', '454 4.7.0 Cannot check the password', waiting],
    ['CONN', '554 5.7.1 Blocked', operator],
    ['EHLO', '421 4.3.0 Busy', waiting],
    ['EHLO', '550 5.0.0 No', operator],
    ['STARTTLS', '454 4.7.0 Not available', waiting],
    ['STARTTLS', '502 5.5.1 Not implemented', operator],
  ])('%s: %j', (command, response, outcome) => {
    expect(classifyError(reply(command, response), false)).toMatchObject(outcome);
  });
});

describe('the outcome of an error without a reply', () => {
  test.each<[code: string, originalCode: string | undefined, outcome: object]>([
    ['EDNS', 'ENOTFOUND', waiting],
    ['ESOCKET', 'ECONNREFUSED', waiting],
    ['ESOCKET', 'EHOSTUNREACH', waiting],
    ['ESOCKET', 'CERT_HAS_EXPIRED', operator],
    ['ESOCKET', 'ERR_TLS_CERT_ALTNAME_INVALID', operator],
    ['ESOCKET', 'ERR_SSL_WRONG_VERSION_NUMBER', operator],
    ['ESOCKET', 'EPROTO', operator],
    ['ETLS', undefined, waiting],
    ['EAUTH', undefined, operator],
    ['ESTREAM', undefined, { ...retry, reason: 'provider_unavailable' }],
  ])('%s %s', (code, originalCode, outcome) => {
    const error = { code, command: 'CONN', ...(originalCode !== undefined && { originalCode }) };
    expect(classifyError(error, false)).toEqual({ ...outcome, providerCode: originalCode ?? code });
  });

  test('returns reply_lost once the server may have received the whole message', () => {
    for (const code of ['ECONNECTION', 'ESOCKET', 'ETIMEDOUT', 'EABORT', 'EPROTOCOL']) {
      const outcome = { kind: 'retry', reason: 'reply_lost', providerCode: code };
      expect(classifyError({ code, command: 'CONN' }, true)).toEqual(outcome);
    }
  });

  test('suspends an address that nodemailer rejects as invalid', () => {
    expect(classifyError({ code: 'EENVELOPE', command: 'API' }, false)).toMatchObject(suspended);
  });
});

test.each([
  ['550 5.1.1 <alice@example.org>: no such user', '550 5.1.1'],
  ['550 5.1.1', '550 5.1.1'],
  ['550-5.1.1 One\n550 5.1.1 Two', '550 5.1.1'],
  ['550 alice@example.org', '550'],
  ['550 5.1.1234 alice', '550'],
  ['5500 5.1.1 alice', '550'],
])('the code of %j contains no text', (response, providerCode) => {
  expect(classifyError(reply('RCPT TO', response), false)).toMatchObject({ providerCode });
});
