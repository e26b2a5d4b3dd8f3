/** Returns a function that prepares something at the first call, and again only after a failure. */
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
