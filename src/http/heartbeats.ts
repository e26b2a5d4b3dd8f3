import type { ServerResponse } from 'node:http';

/** A comment is sent this often, so that no proxy takes the connection for dead. */
const HEARTBEAT_SECONDS = 12;
const COMMENT = ':\n\n';

/** Keeps event streams alive: one timer for all of them, and each second its share, so that they are not all sent at once. */
export class Heartbeats {
  readonly #shares = Array.from({ length: HEARTBEAT_SECONDS }, () => new Set<ServerResponse>());
  #size = 0;
  #added = 0;
  #second = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Sends comments to a stream until {@link remove}. */
  add(response: ServerResponse): void {
    this.#shares[this.#added % HEARTBEAT_SECONDS]?.add(response);
    this.#added += 1;
    this.#size += 1;
    this.#timer ??= setInterval(() => this.#beat(), 1000);
    response.write(COMMENT);
  }

  remove(response: ServerResponse): void {
    for (const share of this.#shares) if (share.delete(response)) this.#size -= 1;
    if (this.#size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    this.#second = (this.#second + 1) % HEARTBEAT_SECONDS;
    for (const response of this.#shares[this.#second] ?? []) {
      if (!response.writableNeedDrain) response.write(COMMENT);
    }
  }
}
