import { inspect } from 'node:util';
import { REDACTED } from '../errors/gateway-errors.ts';

/** Text that cannot be printed, logged or serialized by accident; only {@link Secret.reveal} gives it away. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the one place that needs it. */
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
