import type { EventArgs, EventSubscriber } from '@mikro-orm/core';

type Entities = ReturnType<NonNullable<EventSubscriber['getSubscribedEntities']>>;

/**
 * Rejects flushes and upserts of records that have a revision. MikroORM would store them without incrementing the
 * user's revision, so that streams and entity tags would miss the change.
 */
export class RevisionGuard implements EventSubscriber {
  readonly #entities: Entities;

  constructor(entities: Readonly<Entities>) {
    this.#entities = [...entities];
  }

  getSubscribedEntities(): Entities {
    return this.#entities;
  }

  beforeCreate(args: EventArgs<object>): void {
    reject(args);
  }

  beforeUpdate(args: EventArgs<object>): void {
    reject(args);
  }

  beforeUpsert(args: EventArgs<object>): void {
    reject(args);
  }

  beforeDelete(args: EventArgs<object>): void {
    reject(args);
  }
}

function reject({ meta: { className } }: EventArgs<object>): never {
  throw new Error(
    `${className} has a revision, so MikroORM must not store it. Change it by a statement that increments the revision.`,
  );
}
