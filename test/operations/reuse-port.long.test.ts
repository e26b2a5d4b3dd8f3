import { afterEach, expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { member } from '../support/tokens.ts';

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
const countRequests = (gateway: TestGateway) =>
  gateway.logLines().filter((line) => line.includes('"request"')).length;

test('with REUSE_PORT gateways share one port and the connections to it', async () => {
  const first = await start({ REUSE_PORT: 'true' });
  const second = await start({ REUSE_PORT: 'true', PORT: getPort(first) }, first);
  expect(second.address).toBe(first.address);
  const token = await member('alice');

  for (let number = 0; number < 40; number += 1) {
    const { status } = await rest(first, 'GET', '/editor/auth', { token, headers: { Connection: 'close' } });
    expect(status).toBe(200);
  }

  await expect.poll(() => countRequests(first) + countRequests(second)).toBe(40);
  expect(countRequests(first)).toBeGreaterThan(0);
  expect(countRequests(second)).toBeGreaterThan(0);
});

test.each([
  ['only the first', { REUSE_PORT: 'true' }, {}],
  ['only the second', {}, { REUSE_PORT: 'true' }],
  ['neither', {}, {}],
])('fails to start on a port in use if %s sets REUSE_PORT', async (_who, one, other) => {
  const first = await start(one);
  await expect(start({ ...other, PORT: getPort(first) }, first)).rejects.toThrow(
    `Port ${getPort(first)} of 127.0.0.1 is in use. Stop the process that uses it, or set PORT to another port (0 selects a free one).`,
  );
});
