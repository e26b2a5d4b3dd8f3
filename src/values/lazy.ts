/** Prepares something when it is first asked for, and anew where that failed. */
export function lazy<Thing>(prepare: () => Promise<Thing>): () => Promise<Thing> {
  let prepared: Promise<Thing> | undefined;
  return () => {
    prepared ??= prepare().catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    return prepared;
  };
}
