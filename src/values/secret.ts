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
