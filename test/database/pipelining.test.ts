import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createConnections, limitPipelining } from '../../src/server/connections.ts';
import { eventually } from '../support/eventually.ts';
import { getPort } from '../support/servers.ts';
import { openUnread } from '../support/unread.ts';

/* The listener is defined here, because concurrency is not visible to a client. */

let server: Server;
let gateway: { address: string };
let received: number[];
let running: Map<number, ServerResponse>;
beforeEach(async () => {
  received = [];
  running = new Map();
  const listener = limitPipelining(({ url = '' }, response) => {
    const number = Number(url.slice(1));
    received.push(number);
    running.set(number, response);
    response.once('close', () => running.delete(number));
  });
  server = createServer().on('request', listener).on('checkExpectation', listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  gateway = { address: `http://127.0.0.1:${getPort(server)}` };
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_none, index) => from + index);
const request = (number: number, ...lines: string[]) =>
  [`GET /${number} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n');
const burst = (from: number, to: number) =>
  numbers(from, to)
    .map((number) => request(number))
    .join('');
const openConnections = () =>
  new Promise<number>((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });

/** Ends a request's reply with its number. */
function reply(number: number): void {
  const response = running.get(number);
  if (response === undefined) throw new Error(`Request ${number} does not run.`);
  response.end(`<${number}>`);
}

test('a finished reply that waits for an earlier one counts as running', async () => {
  const connection = await openUnread(gateway, burst(0, 20));
  await eventually(() => expect(received).toHaveLength(16));

  for (const number of numbers(1, 16)) reply(number);
  const other = await openUnread(gateway, burst(100, 101));
  await eventually(() => expect(received).toContain(100));
  expect(received).not.toContain(16);

  reply(0);
  await eventually(() => expect(running).toHaveProperty('size', 5));
  expect(received).toEqual([...numbers(0, 16), 100, ...numbers(16, 20)]);
  connection.close();
  other.close();
});

test('runs at most 16 of 144 pipelined requests, and replies in order, also to those with an Expect header', async () => {
  const expecting = (number: number) => (number % 9 === 0 ? ['Expect: a-miracle'] : []);
  const socket = await openUnread(
    gateway,
    numbers(0, 144)
      .map((number) => request(number, ...expecting(number)))
      .join(''),
  );
  let text = '';
  socket.onText((more) => {
    text += more;
  });
  for (const number of numbers(0, 144)) {
    await eventually(() => expect(running.has(number)).toBe(true));
    expect(running.size).toBeLessThanOrEqual(16);
    reply(number);
  }
  await eventually(() => expect(text).toContain('<143>'));
  expect([...text.matchAll(/<(\d+)>/g)].map(([, number]) => Number(number))).toEqual(numbers(0, 144));
  socket.close();
});

test('destroys a socket with more than 128 waiting requests without running them, and serves others', async () => {
  const other = await openUnread(gateway, burst(1000, 1001));
  await eventually(() => expect(received).toEqual([1000]));
  await openUnread(gateway, burst(0, 145));

  await eventually(async () => expect(await openConnections()).toBe(1));
  await eventually(() => expect([...running.keys()]).toEqual([1000]));
  expect(received).toEqual([1000, ...numbers(0, 16)]);
  other.close();
});

test.each(['Content-Length: 40000', 'Transfer-Encoding: chunked'])(
  'destroys a socket whose pipelined bodies may exceed 64 KiB: %s',
  async (framing) => {
    const post = (number: number) =>
      request(number, framing) + (framing.endsWith('chunked') ? '1\r\na\r\n0\r\n\r\n' : 'a'.repeat(40_000));
    const connection = await openUnread(gateway, burst(0, 1) + post(1));
    await eventually(() => expect(received).toEqual([0, 1]));

    connection.send(burst(2, 3));
    await eventually(() => expect(received).toEqual([0, 1, 2]));
    connection.send(post(3));
    await connection.readAll();
    expect(received).toEqual([0, 1, 2]);
  },
);

test('does not run waiting requests of a disconnected client', async () => {
  const connection = await openUnread(gateway, burst(0, 40));
  await eventually(() => expect(received).toHaveLength(16));

  connection.close();
  await eventually(() => expect(running.size).toBe(0));
  expect(received).toHaveLength(16);
});

test('while draining, only the last of the pipelined replies announces that the connection will be closed', async () => {
  const draining = createServer();
  const connections = createConnections(draining, 10_000);
  const waiting: ServerResponse[] = [];
  connections.serve((_request, response) => void waiting.push(response));
  draining.listen(0, '127.0.0.1');
  await once(draining, 'listening');
  const connection = await openUnread({ address: `http://127.0.0.1:${getPort(draining)}` }, burst(0, 20));
  await eventually(() => expect(waiting).toHaveLength(16));

  connections.startDraining();
  for (let number = 0; number < 20; number += 1) {
    await eventually(() => expect(waiting.length).toBeGreaterThan(number));
    waiting[number]?.end(`<${number}>`);
  }
  const text = String(await connection.readAll());
  expect(text.match(/<\d+>/g)).toEqual(numbers(0, 20).map((number) => `<${number}>`));
  expect(text.match(/Connection: close/gi)).toHaveLength(1);
  expect(await connections.close(1000)).toBe(0);
});
