import { hash, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';
import { REDACTED } from '../errors/gateway-errors.ts';

/** A string that cannot be printed, logged or serialized by accident; only {@link Secret.reveal} returns it. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the string itself. */
  reveal(): string {
    return this.#text;
  }

  /** Returns whether a string equals this one. Takes the same time wherever they differ. */
  matches(text: string): boolean {
    // Digests have equal lengths.
    const digest = (one: string) => hash('sha256', one, 'buffer');
    return timingSafeEqual(digest(text), digest(this.#text));
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
