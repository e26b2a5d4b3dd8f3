import type { EntityManager } from '@mikro-orm/postgresql';
import { defineRowsOfUserRead } from '../database/batched-read.ts';
import { type Database, getKysely } from '../database/database.ts';
import { userTransaction } from '../database/transaction.ts';
import type { OutboxDependencies } from '../live/outbox.ts';
import type { Secret } from '../values/secret.ts';
import type { Time } from '../values/time.ts';
import { Contact } from './contact.entity.ts';

/** Where a user is reached, by channel; null where the user has no target. */
export type Targets = { email: Secret | null; chatMemberId: Secret | null };

/** Replaces a user's contact, which ends suspensions, and cancels deliveries to targets that it removes. */
export async function putContact(
  { database, outbox }: OutboxDependencies,
  userId: string,
  { email, chatMemberId }: Targets,
  now: Time,
): Promise<Contact> {
  const contact: Contact = {
    userId,
    email: email?.reveal() ?? null,
    emailSuspendedAt: null,
    chatMemberId: chatMemberId?.reveal() ?? null,
    chatSuspendedAt: null,
    createdAt: now,
    updatedAt: now,
  };
  const stored = await userTransaction(database.fork(), [userId], (em) => store(em, contact));
  outbox.note([userId]);
  return stored;
}

/** Binds the addresses as parameters. `em.upsert` would write them into the text of the statement and of its errors. */
function store(em: EntityManager, contact: Contact): Promise<Contact> {
  const { userId: _key, createdAt: _kept, ...replaced } = contact;
  return getKysely(em)
    .insertInto('Contact')
    .values(contact)
    .onConflict((conflict) => conflict.column('userId').doUpdateSet(replaced))
    .returningAll()
    .executeTakeFirstOrThrow();
}

const findContacts = defineRowsOfUserRead((database, { users }) =>
  database.fork().find(Contact, { userId: { $in: users } }),
);

/** Finds a user's contact; undefined if none was ever put. Concurrent calls become one statement. */
export async function findContact(database: Database, userId: string): Promise<Contact | undefined> {
  const [contact] = await findContacts(database, userId);
  return contact;
}

const MASK = '***';

/** A shorter member ID is hidden completely. */
const MIN_SHOWN_MEMBER_ID = 8;
const SHOWN_CHARACTERS = 3;

/**
 * Masks an email address except for the domain and the first character: `a***@example.com`. Masks a single character
 * before the `@` too.
 */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@');
  return `${at > 1 ? email.slice(0, 1) : ''}${MASK}${email.slice(at)}`;
}

/** Masks a chat member's ID except for the last three characters: `***3CD`. */
export function maskMemberId(memberId: string): string {
  return MASK + (memberId.length < MIN_SHOWN_MEMBER_ID ? '' : memberId.slice(-SHOWN_CHARACTERS));
}
