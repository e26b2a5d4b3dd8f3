import { identifyCaller } from '../auth/viewer.ts';
import type { Context } from '../context.ts';

/** Waits until the reply of a context's request may contain so many more bytes, and returns whether it may. */
export async function admitLargeReply(context: Context, bytes: number): Promise<boolean> {
  const { largeReads, viewer, onLeave } = context;
  context.largeRead ??= largeReads.admit(identifyCaller(viewer), onLeave);
  const { take } = await context.largeRead;
  return take(bytes);
}

/**
 * Does the same within a read. A read of the caller's own account meanwhile does not keep the caller's other reads from
 * running. A read of the platform or by a task token is not one of those.
 */
export function admitLargeRead(
  context: Context,
  bytes: number,
  reader: 'viewer' | 'platform' = 'viewer',
): Promise<boolean> {
  const admit = () => admitLargeReply(context, bytes);
  const { readScheduler, viewer } = context;
  return reader === 'platform' || viewer.task ? admit() : readScheduler.suspend(viewer.userId, admit);
}
