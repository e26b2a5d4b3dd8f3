import { expect, test } from 'vitest';
import { LargeReads, MAX_READ_BYTES } from '../../src/quota/large-reads.ts';

/** Admits a request of a caller, which leaves when `leave` is called. */
async function admit(reads: LargeReads, callerId: string) {
  const { promise, resolve: leave } = Promise.withResolvers<void>();
  const read = await reads.admit(callerId, (onLeave) => void promise.then(onLeave));
  return { take: read.take, leave };
}

test('two callers read at once, and a third one when one of them has left', async () => {
  const reads = new LargeReads();
  const [first, second, third] = await Promise.all(['a', 'b', 'c'].map((id) => admit(reads, id)));
  expect(await first?.take(MAX_READ_BYTES / 2)).toBe(true);
  expect(await first?.take(MAX_READ_BYTES / 2)).toBe(true);
  expect(await second?.take(MAX_READ_BYTES)).toBe(true);
  const taken = third?.take(1);
  first?.leave();
  expect(await taken).toBe(true);
});

test('a caller waits a second for the replies of others, at most', async () => {
  const reads = new LargeReads();
  const [first, second, third] = await Promise.all(['a', 'b', 'c'].map((id) => admit(reads, id)));
  await first?.take(MAX_READ_BYTES);
  await second?.take(MAX_READ_BYTES);
  expect(await third?.take(MAX_READ_BYTES)).toBe(false);
  second?.leave();
  // What was refused is not charged, and what was then granted is.
  expect(await third?.take(MAX_READ_BYTES)).toBe(true);
  expect(await (await admit(reads, 'd')).take(1)).toBe(false);
});

test('a record above the maximum takes what the caller has left', async () => {
  const reads = new LargeReads();
  const [first, second] = await Promise.all(['a', 'b'].map((id) => admit(reads, id)));
  expect(await first?.take(MAX_READ_BYTES + 1)).toBe(true);
  expect(await first?.take(1)).toBe(true);
  expect(await second?.take(MAX_READ_BYTES)).toBe(true);
});

test('a second request of a caller waits until the first has left', async () => {
  const reads = new LargeReads();
  const first = await admit(reads, 'a');
  let isAdmitted = false;
  const second = admit(reads, 'a').then((read) => {
    isAdmitted = true;
    return read;
  });
  await admit(reads, 'b');
  expect(isAdmitted).toBe(false);
  first.leave();
  expect(await (await second).take(1)).toBe(true);
});

test('a request that has left takes nothing', async () => {
  const reads = new LargeReads();
  const [gone, first, second] = await Promise.all(['a', 'b', 'c'].map((id) => admit(reads, id)));
  gone?.leave();
  await admit(reads, 'a');
  expect(await gone?.take(1)).toBe(false);
  expect(await first?.take(MAX_READ_BYTES)).toBe(true);
  expect(await second?.take(MAX_READ_BYTES)).toBe(true);
});

test('what a request takes while it leaves is free for others', async () => {
  const reads = new LargeReads();
  const [first, second, third] = await Promise.all(['a', 'b', 'c'].map((id) => admit(reads, id)));
  await first?.take(MAX_READ_BYTES);
  await second?.take(MAX_READ_BYTES);
  const taken = third?.take(MAX_READ_BYTES);
  third?.leave();
  first?.leave();
  expect(await taken).toBe(false);
  expect(await (await admit(reads, 'd')).take(MAX_READ_BYTES)).toBe(true);
});
