import { sql } from 'kysely';
import { defineRowsOfUserRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import { type CancelDependencies, transactionAndCancel } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { Secret } from '../values/secret.ts';
import type { Time } from '../values/time.ts';
import type { Contact } from './contact.entity.ts';

/** Where a user is reached, by channel; null where the user has no target. */
export type Targets = { email: Secret | null; chatMemberId: Secret | null };

/** Replaces a user's contact, which ends suspensions, and cancels deliveries to targets that it removes. */
export async function putContact(
  dependencies: CancelDependencies,
  userId: string,
  { email, chatMemberId }: Targets,
  now: Time,
): Promise<Contact> {
  const contact = {
    userId,
    email: email?.reveal() ?? null,
    chatMemberId: chatMemberId?.reveal() ?? null,
    now,
  };
  const [stored] = await transactionAndCancel(dependencies, [userId], (run) => run(store, contact));
  if (stored === undefined) throw new Error('Storing the contact returned no row.');
  return stored;
}

type ContactInput = { userId: string; email: string | null; chatMemberId: string | null; now: Time };

const store = defineStatement((db, { param }: Params<ContactInput>) =>
  db
    .insertInto('Contact')
    .values({
      userId: param('userId'),
      email: param('email'),
      emailSuspendedAt: null,
      chatMemberId: param('chatMemberId'),
      chatSuspendedAt: null,
      createdAt: param('now'),
      updatedAt: param('now'),
    })
    .onConflict((conflict) =>
      conflict.column('userId').doUpdateSet((eb) => ({
        email: eb.ref('excluded.email'),
        emailSuspendedAt: null,
        chatMemberId: eb.ref('excluded.chatMemberId'),
        chatSuspendedAt: null,
        updatedAt: eb.ref('excluded.updatedAt'),
      })),
    )
    .returningAll(),
);

const findContacts = defineRowsOfUserRead((db, { param }) =>
  db
    .selectFrom('Contact')
    .selectAll()
    .where('userId', '=', sql<string>`any(${param('users')}::text[])`),
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
