import { hash } from './hash.ts';
import type { AnswerContent } from './inbox-types.ts';

/** Keeps the IDs of answers whose outcome is not known. */
export type PendingAnswers = {
  /** Returns the ID under which this content was sent, or a new one, which it stores. */
  getId(content: AnswerContent): string;
  /** Forgets the ID, because the outcome is known. */
  settle(): void;
};

/** Used where the page has no session storage, or may not use it. */
const memory = new Map<string, string>();

/** Returns the pending answer to a notification of an account, in the session storage of the tab. */
export function openPendingAnswer(account: string, notificationId: string): PendingAnswers {
  const key = `workspace-account:answer:${hash(JSON.stringify([account, notificationId]))}`;
  return {
    getId(content) {
      const text = JSON.stringify(content);
      const [id, sent] = parse(read(key));
      if (id !== undefined && sent === text) return id;
      const next = createId();
      write(key, JSON.stringify([next, text]));
      return next;
    },
    settle() {
      memory.delete(key);
      inSession((storage) => storage.removeItem(key));
    },
  };
}

function parse(stored: string | undefined): (string | undefined)[] {
  const value: unknown = stored === undefined ? [] : JSON.parse(stored);
  return Array.isArray(value) ? value.map(String) : [];
}

/** `crypto.randomUUID` is missing in pages without HTTPS. */
function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function read(key: string): string | undefined {
  return inSession((storage) => storage.getItem(key)) ?? memory.get(key);
}

function write(key: string, value: string): void {
  const isStored = inSession((storage) => {
    storage.setItem(key, value);
    return true;
  });
  // Only this page remembers it.
  if (!isStored) memory.set(key, value);
}

/** Returns undefined if the page has no session storage, may not use it, or has filled it. */
function inSession<Result>(use: (storage: Storage) => Result): Result | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}
