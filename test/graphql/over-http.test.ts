import { serverAudits } from 'graphql-http';
import { beforeAll, expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

const audits = serverAudits({
  url: () => `${gateway.address}/graphql`,
  fetchFn: (url: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${token}`);
    return fetch(url, { ...init, headers });
  },
});

test('the GraphQL over HTTP audit has 61 requirements', () => {
  expect(audits).toHaveLength(61);
});

test.each(audits.map((audit) => [audit.id, audit.name, audit] as const))(
  '%s: %s',
  async (_id, _name, audit) => {
    expect(await audit.fn()).toMatchObject({ status: 'ok' });
  },
);
