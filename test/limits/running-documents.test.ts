import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RunningDocuments } from '../../src/quota/running-documents.ts';

/* Small documents cost at most 4,000. Large ones cost more than 8,000, up to 25,000, which is what they may cost together. */

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

type Sent = { state?: boolean; format: () => Promise<void>; leave: () => Promise<void> };

/** Sends a document of a caller, which leaves when `leave` is called. `state` is set once it may run, or may not. */
function send(running: RunningDocuments, callerId: string, cost: number) {
  const { promise, resolve: leave } = Promise.withResolvers<void>();
  const document: Sent = {
    format: async () => undefined,
    leave: async () => {
      leave();
      await settle();
    },
  };
  void running
    .admit(callerId, cost, (onLeave) => void promise.then(onLeave))
    .then((admitted) => {
      document.state = admitted !== undefined;
      document.format = async () => {
        void admitted?.format({ data: {} });
        await settle();
      };
    });
  return document;
}

const settle = () => vi.advanceTimersByTimeAsync(0);

test('the documents of a caller cost at most 8,000 together, and the next one runs when a reply was sent', async () => {
  const running = new RunningDocuments();
  const [first, second, third] = [4000, 3000, 1001].map((cost) => send(running, 'a', cost));
  const other = send(running, 'b', 8000);
  await settle();
  await first?.format();
  await second?.format();
  expect([first?.state, second?.state, third?.state, other.state]).toEqual([true, true, undefined, true]);
  await other.format();
  await second?.leave();
  expect(third?.state).toBe(true);
});

test('large documents of all callers run one at a time, in turn; those of each kind delay no others', async () => {
  const running = new RunningDocuments();
  const [first, second, third] = ['a', 'b', 'c'].map((id) => send(running, id, 25_000));
  const ofFirst = [8000, 1500].map((cost) => send(running, 'a', cost));
  await settle();
  expect([first?.state, second?.state, third?.state]).toEqual([true, undefined, undefined]);
  expect(ofFirst.map(({ state }) => state)).toEqual([true, true]);
  await first?.leave();
  expect([second?.state, third?.state]).toEqual([true, undefined]);
});

test('small documents read together; of the others, the next one reads when a reply is formatted', async () => {
  const running = new RunningDocuments();
  const small = ['a', 'b', 'c'].map((id) => send(running, id, 4000));
  const [first, second] = ['a', 'b'].map((id) => send(running, id, 4001));
  await settle();
  expect(small.map(({ state }) => state)).toEqual([true, true, true]);
  expect([first?.state, second?.state]).toEqual([true, undefined]);
  await first?.format();
  expect(second?.state).toBe(true);
});

test('ten callers who read no reply leave room for another', async () => {
  const running = new RunningDocuments();
  const attack = Array.from({ length: 200 }, (_, index) => [
    send(running, `attacker-${index % 10}`, 8000),
    send(running, `attacker-${index % 10}`, 25_000),
  ]).flat();
  for (let round = 0; round < 10; round += 1) {
    await settle();
    await Promise.all(attack.map(({ format }) => format()));
  }
  expect(attack.filter(({ state }) => state).length).toBe(11);
  const others = ['a', 'b'].map((id) => send(running, id, 4000));
  await settle();
  expect(others.map(({ state }) => state)).toEqual([true, true]);
});

test('callers take turns: the further documents of ten do not pass that of another', async () => {
  const running = new RunningDocuments();
  const attack = Array.from({ length: 200 }, (_, index) => send(running, `attacker-${index % 10}`, 8000));
  const other = send(running, 'a', 4001);
  await settle();
  let sent = 0;
  for (; !other.state && sent < 20; sent += 1) {
    const document = attack.find(({ state }) => state);
    attack.splice(document ? attack.indexOf(document) : 0, 1);
    await document?.leave();
  }
  // Each has one turn.
  expect(sent).toBeLessThanOrEqual(11);
});

test('a document that lacks room for ten seconds does not run, and takes no room later', async () => {
  const running = new RunningDocuments();
  const first = send(running, 'a', 25_000);
  const second = send(running, 'b', 25_000);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(second.state).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(second.state).toBe(false);
  await first.leave();
  await second.leave();
  const third = send(running, 'c', 25_000);
  await settle();
  expect(third.state).toBe(true);
});

test('a document whose client leaves while it waits takes no room', async () => {
  const running = new RunningDocuments();
  const first = send(running, 'a', 25_000);
  const [gone, next] = ['b', 'c'].map((id) => send(running, id, 25_000));
  await settle();
  await gone?.leave();
  expect(gone?.state).toBe(false);
  await first.leave();
  expect(next?.state).toBe(true);
});
