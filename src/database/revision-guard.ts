import type { EventArgs, EventSubscriber } from '@mikro-orm/core';

/**
 * Rejects flushes and upserts of records that have a revision. MikroORM would store them without incrementing the
 * user's revision, so that streams and entity tags would miss the change.
 */
export class RevisionGuard implements EventSubscriber<object> {
  readonly #names: ReadonlySet<string>;

  /** Rejects the entities with these names. */
  constructor(names: Iterable<string>) {
    this.#names = new Set(names);
  }

  // `getSubscribedEntities` would exclude upserts, whose entity can be a plain object.
  beforeCreate({ meta }: EventArgs<object>): void {
    this.#reject(meta.className);
  }

  beforeUpdate({ meta }: EventArgs<object>): void {
    this.#reject(meta.className);
  }

  beforeUpsert({ meta }: EventArgs<object>): void {
    this.#reject(meta.className);
  }

  beforeDelete({ meta }: EventArgs<object>): void {
    this.#reject(meta.className);
  }

  #reject(name: string): void {
    if (!this.#names.has(name)) return;
    throw new Error(
      `${name} has a revision, so it cannot be stored by flushing. Use a statement that increments the revision.`,
    );
  }
}
