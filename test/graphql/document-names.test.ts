import { beforeAll, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

test.each(['constructor', 'toString', 'hasOwnProperty', '__proto__', 'valueOf'])(
  'rejects a name of Object.prototype in any position of a document: %s',
  async (name) => {
    const documents = [
      `{ ${name} }`,
      `{ ${name} { ${name} } }`,
      `{ unknown { ${name} { ${name} } } }`,
      `{ notification(id: "a") { ${name} } }`,
      `{ workspaces(${name}: 1) { totalCount } }`,
      `{ workspaces(filter: { statuses: ${name} }) { totalCount } }`,
      `{ workspaces @${name} { totalCount } }`,
      `{ ...${name} }`,
      `{ ... on ${name} { ${name} } }`,
      `{ ...A } fragment A on ${name} { ${name} }`,
      `query ($a: ${name}) { workspaces(first: $a) { totalCount } }`,
      `mutation { dismissNotification(input: { id: "a", ${name}: 1 }) { __typename } }`,
    ];
    for (const document of documents) {
      const reply = await graphql(gateway, document, {}, { token });
      expect([reply.status, reply.errors[0].extensions.code], document).toEqual([400, 'BAD_REQUEST']);
    }
    const variable = await graphql(
      gateway,
      `query ($${name}: Int) { workspaces(first: $${name}) { totalCount } }`,
      {},
      { token },
    );
    expect([variable.status, variable.data]).toEqual([200, { workspaces: { totalCount: 0 } }]);
  },
);

test('rejects members of a body with names of Object.prototype', async () => {
  const bodies = [
    '{"query":"{__typename}","__proto__":{}}',
    '{"__proto__":{"query":"{__typename}"}}',
    '{"query":"{__typename}","constructor":1}',
  ];
  for (const body of bodies) {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    const response = await fetch(`${gateway.address}/graphql`, { method: 'POST', headers, body });
    expect(response.status, body).toBe(400);
  }
});

test.each([1, 2, 1000])('rejects a batch of %i requests and runs none', async (count) => {
  const { id } = await publish(gateway, 'alice');
  const query = `mutation { dismissNotification(input: { id: "${id}" }) { __typename } }`;

  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify(Array(count).fill({ query })),
  });

  expect([response.status, (await response.json()).errors[0].extensions.code]).toEqual([400, 'BAD_REQUEST']);
  expect(await gateway.database.sql('select status from notification where id = $1', [id])).toEqual([
    { status: 'active' },
  ]);
});
