import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { getKysely, openDatabase } from '../../src/database/database.ts';
import { createLog } from '../../src/log.ts';
import { Secret } from '../../src/values/secret.ts';
import { useGateway } from '../support/gateway.ts';
import { putWorkspaces, workspaceInput } from '../support/records.ts';

const TOKEN = 'SECRET-token-0123456789';

const gateway = useGateway();
beforeAll(async () => {
  await putWorkspaces(gateway, 'alice', [workspaceInput({ previewToken: TOKEN })]);
});

test('a secret matches only the same string', () => {
  const secret = new Secret(TOKEN);
  expect(secret.matches(TOKEN)).toBe(true);
  for (const other of ['', TOKEN.slice(1), `${TOKEN} `, TOKEN.toLowerCase(), secret.toString()])
    expect(secret.matches(other)).toBe(false);
});

describe.each<[what: string, make: () => Promise<unknown> | unknown]>([
  ['a secret', () => new Secret(TOKEN)],
  ['an object that contains a secret', () => ({ input: [{ accessToken: new Secret(TOKEN) }] })],
  ['an error that contains a secret', () => Object.assign(new Error('failed'), { pair: new Secret(TOKEN) })],
  ['rows with a secret column', rowsWithSecret],
])('%s', (_what, make) => {
  test.each<[how: string, print: (value: unknown) => string]>([
    ['JSON.stringify', (value) => JSON.stringify({ value })],
    ['String', (value) => `${value}`],
    ['util.inspect', (value) => inspect(value, { depth: null, showHidden: true, getters: true })],
    [
      'console.log',
      (value) => capture((sink) => new Console(sink).log('%s %o %O %j', value, value, value, value)),
    ],
    ['the log', (value) => capture((sink) => createLog('trace', sink).info({ value, err: value }, 'text'))],
  ])('is not printed by %s', async (_how, print) => {
    const text = print(await make());
    expect(text).not.toBe('');
    expect(text).not.toContain(TOKEN);
  });
});

async function rowsWithSecret(): Promise<unknown> {
  const database = await openDatabase({ url: gateway.database.url, poolSize: 1, timeoutMs: 1000 });
  try {
    const rows = await getKysely(database.fork()).selectFrom('Workspace').selectAll().execute();
    expect(rows[0]?.previewToken?.reveal()).toBe(TOKEN);
    return rows;
  } finally {
    await database.close();
  }
}

function capture(print: (sink: Writable) => void): string {
  let text = '';
  const write = (chunk: unknown, _encoding: unknown, done: () => void) => {
    text += String(chunk);
    done();
  };
  print(new Writable({ write }));
  return text;
}
