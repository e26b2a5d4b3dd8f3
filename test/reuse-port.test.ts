import { afterEach, expect, test } from 'vitest';
import { rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { member } from './support/tokens.ts';

const gateways: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0).reverse()) await gateway.close();
});

async function start(settings: Record<string, string>, first?: TestGateway): Promise<TestGateway> {
  const gateway = await startTestGateway(settings, first?.database);
  gateways.push(gateway);
  return gateway;
}

const getPort = ({ address }: TestGateway) => new URL(address).port;
const requests = (gateway: TestGateway) =>
  gateway.logLines().filter((line) => line.includes('"request"')).length;

test('with REUSE_PORT gateways listen on one port, and each takes its share of the connections', async () => {
  const first = await start({ REUSE_PORT: 'true' });
  const second = await start({ REUSE_PORT: 'true', PORT: getPort(first) }, first);
  expect(second.address).toBe(first.address);
  const token = await member('alice');

  for (let number = 0; number < 40; number += 1) {
    const { status } = await rest(first, 'GET', '/editor/auth', { token, headers: { Connection: 'close' } });
    expect(status).toBe(200);
  }

  await expect.poll(() => requests(first) + requests(second)).toBe(40);
  expect(requests(first)).toBeGreaterThan(0);
  expect(requests(second)).toBeGreaterThan(0);
});

test.each([
  ['the first', { REUSE_PORT: 'true' }, {}],
  ['the second', {}, { REUSE_PORT: 'true' }],
  ['neither', {}, {}],
])('where only %s says REUSE_PORT the port is taken', async (_who, one, other) => {
  const first = await start(one);
  await expect(start({ ...other, PORT: getPort(first) }, first)).rejects.toThrow(
    `Port ${getPort(first)} of 127.0.0.1 is taken by another process. Stop that one, or set PORT to another (0 takes a free one).`,
  );
});
