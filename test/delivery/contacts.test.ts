import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maskEmail, maskMemberId } from '../../src/delivery/contacts.ts';
import { emailSchema, MEMBER_ID_MESSAGE } from '../../src/values/constraints.ts';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway({ LOG_LEVEL: 'trace' });
const { as } = gateway;

const put = (userId: string, addresses: object) => as(platform).putContact({ userId, ...addresses });
const readStored = (userId: string) =>
  gateway.database.sql('select * from contact where user_id = $1', [userId]);

const empty = { email: null, emailSuspendedAt: null, chatMemberId: null, chatSuspendedAt: null };

test('the platform puts a contact, and the user and dashboards read it masked', async () => {
  const masked = { ...empty, userId: 'alice', email: 'a***@example.com', chatMemberId: '***3CD' };

  expect(await put('alice', { email: 'alice@example.com', chatMemberId: 'U012AB3CD' })).toEqual(masked);
  expect(await as('alice').contact()).toEqual(masked);
  const { data } = await as(platform).graphql('{ user(id: "alice") { contact { email chatMemberId } } }');
  expect(data.user.contact).toEqual({ email: 'a***@example.com', chatMemberId: '***3CD' });
  expect(await readStored('alice')).toMatchObject([
    { email: 'alice@example.com', chat_member_id: 'U012AB3CD' },
  ]);
});

test('a contact that was never put is empty', async () => {
  expect(await as('nobody').contact()).toEqual({ ...empty, userId: 'nobody' });
  expect(await readStored('nobody')).toEqual([]);
});

test.each([
  ['omitted', {}],
  ['null', { email: null, chatMemberId: null }],
])('an address that is %s is removed', async (_how, nothing) => {
  const [email, chatMemberId] = ['bob@example.com', 'U012AB3CD'];
  await put('bob', { email, chatMemberId });

  expect(await put('bob', { ...nothing, email })).toMatchObject({ chatMemberId: null });
  expect(await put('bob', { ...nothing, chatMemberId })).toMatchObject({ email: null });
  expect(await put('bob', nothing)).toEqual({ ...empty, userId: 'bob' });
});

test('a suspension is shown, and ends when an address is put again', async () => {
  const contact = { email: 'carol@example.com', chatMemberId: 'U012AB3CD' };
  await put('carol', contact);
  await gateway.database.sql(
    `update contact set email_suspended_at = '2026-05-04T10:00:00Z', chat_suspended_at = '2026-05-04T11:00:00Z' where user_id = 'carol'`,
  );

  expect(await as('carol').contact()).toMatchObject({
    emailSuspendedAt: '2026-05-04T10:00:00.000Z',
    chatSuspendedAt: '2026-05-04T11:00:00.000Z',
  });
  const active = { emailSuspendedAt: null, chatSuspendedAt: null };
  expect(await put('carol', contact)).toMatchObject(active);
  expect(await as('carol').contact()).toMatchObject(active);
});

const EMAIL_MESSAGE = 'must be an email address of at most 254 ASCII characters';
test.each<[what: string, email: string]>([
  ['no address', 'someone'],
  ['an empty string', ''],
  ['two addresses', 'a@example.com,b@example.com'],
  ['a display name', 'A <a@example.com>'],
  ['a line break', 'a@example.com\r\nBcc: b@example.com'],
  ['a space', 'a b@example.com'],
  ['a character outside ASCII', 'ä@example.com'],
  ['a domain outside ASCII', 'a@exämple.com'],
  ['a quoted local part', '"a b"@example.com'],
  ['an address literal', 'a@[127.0.0.1]'],
  ['no local part', '@example.com'],
  ['no domain', 'a@'],
  ['255 characters', `${'a'.repeat(243)}@example.com`],
])('an email address with %s is rejected with its location but not its value', async (_what, email) => {
  await expect(put('eve', { email })).rejects.toMatchObject(
    refused('VALIDATION_FAILED', ['input.email', EMAIL_MESSAGE]),
  );
});

test.each<[what: string, chatMemberId: string]>([
  ['an empty string', ''],
  ['a space', 'U012 AB3CD'],
  ['a line break', 'U012AB3CD\n'],
  ['a control character', 'U012\u0000'],
  ['a character outside ASCII', 'Ü012AB3CD'],
  ['256 characters', 'U'.repeat(256)],
])('a member ID with %s is rejected with its location but not its value', async (_what, chatMemberId) => {
  await expect(put('eve', { chatMemberId })).rejects.toMatchObject(
    refused('VALIDATION_FAILED', ['input.chatMemberId', MEMBER_ID_MESSAGE]),
  );
});

test('common and long email addresses and member IDs are accepted', async () => {
  const emails = ['a@example.com', "o'brien+tag/x=1@mail.example.co.uk", 'A.B_C@xn--exmple-cua.com'];
  for (const email of [...emails, 'root@localhost', `${'a'.repeat(242)}@example.com`]) {
    await put('frank', { email });
    expect(await readStored('frank')).toMatchObject([{ email }]);
  }
  const memberIds = ['U012AB3CD', 'W012AB3CD', 'C0', 'Carol-Danvers', 'dave:example.org'];
  for (const chatMemberId of [...memberIds, `U${'0'.repeat(254)}`]) {
    await put('frank', { chatMemberId });
    expect(await readStored('frank')).toMatchObject([{ chat_member_id: chatMemberId }]);
  }
});

test('neither replies nor logs contain an address', async () => {
  const replies: string[] = [];
  const send = async (query: string, variables = {}) => {
    replies.push((await as(platform).graphql(query, variables)).text);
  };
  const PUT = `mutation ($input: PutContactInput!) { putContact(input: $input) { contact { email chatMemberId } } }`;
  const email = 'heidi.MARKED@example.com';
  const chatMemberId = 'UMARKED0123';

  await send(PUT, { input: { userId: 'heidi', email, chatMemberId } });
  await send(PUT, { input: { userId: 'heidi', email: [email], mail: email } });
  await send(PUT, { input: { userId: '', email, chatMemberId } });
  await send(PUT, { input: { userId: 'heidi', email: `${email} `, chatMemberId: `${chatMemberId} ` } });
  await send(`mutation { putContact(input: { userId: "heidi", email: "${email} " }) { contact { email } } }`);
  await gateway.database.sql('alter table contact add check (length(email) < 3) not valid');
  await send(PUT, { input: { userId: 'heidi', email, chatMemberId } });
  await gateway.database.sql('alter table contact drop constraint contact_email_check');

  expect(replies.at(-1)).toContain('INTERNAL_ERROR');
  expect(replies.filter((text) => text.includes('MARKED'))).toEqual([]);
  expect(gateway.logLines().filter((line) => line.includes('MARKED'))).toEqual([]);
});

test('addresses are masked', () => {
  const emails = ['alice@example.com', 'ab@example.com', 'a@example.com'];
  expect(emails.map(maskEmail)).toEqual(['a***@example.com', 'a***@example.com', '***@example.com']);
  const memberIds = ['U012AB3CD', 'U0123456', 'U012345', 'U'];
  expect(memberIds.map(maskMemberId)).toEqual(['***3CD', '***456', '***', '***']);
});

test('a masked email address reveals only its domain and at most one character of a longer local part', () => {
  const local = fc.stringMatching(/^[A-Za-z0-9.+_-]{1,64}$/);
  const domain = fc.stringMatching(/^[a-z]{1,20}(\.[a-z]{1,20}){0,2}$/);
  fc.assert(
    fc.property(local, local, domain, (one, other, domain) => {
      const email = `${one}@${domain}`;
      expect(emailSchema.safeParse(email).success).toBe(true);
      expect(maskEmail(email)).not.toContain(`${one}@`);
      const isAlike = one[0] === other[0] && one.length > 1 && other.length > 1;
      const sameMask = maskEmail(email) === maskEmail(`${other}@${domain}`);
      expect(sameMask).toBe(isAlike || (one.length === 1 && other.length === 1));
    }),
  );
});

test('a masked member ID reveals at most three characters, which are less than half of it', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[!-~]{1,255}$/), (memberId) => {
      const shown = maskMemberId(memberId).slice('***'.length);
      expect(shown.length).toBeLessThanOrEqual(3);
      expect(shown.length * 2).toBeLessThan(memberId.length);
      expect(memberId.endsWith(shown)).toBe(true);
    }),
  );
});
