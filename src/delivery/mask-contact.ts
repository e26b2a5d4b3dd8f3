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
