import type { Context } from '../context.ts';

/** Waits until the reply of a context's request may contain so many more bytes, and returns whether it may. */
export async function admitLargeReply(context: Context, bytes: number): Promise<boolean> {
  const { largeReads, viewer, onLeave } = context;
  context.largeRead ??= largeReads.admit(viewer.userId, onLeave);
  const { take } = await context.largeRead;
  return take(bytes);
}

/** Does the same within a read of the account, which meanwhile does not keep the caller's other reads from running. */
export function admitLargeRead(context: Context, bytes: number): Promise<boolean> {
  return context.readScheduler.suspend(context.viewer.userId, () => admitLargeReply(context, bytes));
}
