import type { ServerResponse } from 'node:http';

/** Interval of the comments that keep proxies from closing idle streams. */
const HEARTBEAT_SECONDS = 12;
const COMMENT = ':\n\n';

/** Sends heartbeats to event streams. One timer serves all streams; each second it serves one twelfth of them. */
export class Heartbeats {
  readonly #shares = Array.from({ length: HEARTBEAT_SECONDS }, () => new Set<ServerResponse>());
  #size = 0;
  #added = 0;
  #second = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Sends comments to a stream until {@link remove} is called. */
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
