import { hash } from 'node:crypto';
import type { Config, EncryptionKeys } from '../../config.ts';
import { type AnswerLink, createLinkCipher } from '../../encryption/bound-cipher.ts';
import { asksApproval } from '../../notifications/answers/approval.ts';
import type { Contact } from '../contact.entity.ts';
import type { Asked } from './give-answer.ts';

/** The path of links to the answer page. */
export const ANSWER_PATH = '/answer/{token}';

/** A link works for a week, if its request waits that long. */
const LIFETIME_MS = 7 * 86_400_000;

/** Where a link is sent to. */
type Recipient = Pick<Contact, 'email' | 'updatedAt'>;

/** Creates and reads the links to the answer page. */
export type AnswerLinks = ReturnType<typeof createAnswerLinks>;

/**
 * Creates the maker of links. A token is encrypted, and so authenticated, with keys for this purpose only. It is bound to its
 * user, the request and everything shown of it, the address that it is sent to, and the last change of the contact.
 */
export function createAnswerLinks(
  { publicUrl, delivery: { answerLinks: linked } }: Pick<Config, 'publicUrl' | 'delivery'>,
  keys: EncryptionKeys,
) {
  const cipher = createLinkCipher(keys);
  const allows = ({ notification }: Asked) =>
    linked === 'all' || (linked === 'questions' && !asksApproval(notification));
  return {
    /** Whether there are any links. */
    areOn: linked !== 'off',
    /** Returns the link for a recipient; `undefined` if the request has none. */
    async create(asked: Asked, recipient: Recipient): Promise<string | undefined> {
      const { userId, id, requestState } = asked.notification;
      if (publicUrl === null || !allows(asked) || requestState !== 'open') return undefined;
      const link = { userId, id, bound: bind(asked, recipient), expiresAt: Date.now() + LIFETIME_MS };
      return publicUrl + ANSWER_PATH.replace('{token}', await cipher.encrypt(link, purpose));
    },
    /** Returns what a token says; `undefined` if it is not one of these, or too old. */
    async read(token: string): Promise<AnswerLink | undefined> {
      // The last characters of a part can have several forms.
      const isCanonical = token
        .split('.')
        .every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
      const link = isCanonical ? await cipher.decrypt(token, purpose).catch(() => undefined) : undefined;
      return link !== undefined && link.expiresAt > Date.now() ? link : undefined;
    },
    /** Whether a link is still valid for what is stored. */
    isValid: ({ bound }: AnswerLink, asked: Asked, recipient: Recipient): boolean =>
      allows(asked) && bound === bind(asked, recipient),
  };
}

const purpose = { purpose: 'answer' } as const;

const bind = ({ requestHash }: Asked, { email, updatedAt }: Recipient): string =>
  hash('sha256', JSON.stringify([requestHash, email, updatedAt]), 'base64url');
