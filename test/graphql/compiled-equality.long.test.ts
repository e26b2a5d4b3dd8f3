import { Writable } from 'node:stream';
import fc from 'fast-check';
import { execute, parse } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scopes } from '../../src/auth/scopes.ts';
import { readConfig } from '../../src/config.ts';
import type { Context } from '../../src/context.ts';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { createOutbox } from '../../src/delivery/outbox.ts';
import { createCredentialCipher } from '../../src/encryption/bound-cipher.ts';
import { compile, isCompilable } from '../../src/graphql/compile-operation.ts';
import { maskResult } from '../../src/graphql/errors.ts';
import type { Operation } from '../../src/graphql/operation.ts';
import { findOperation } from '../../src/graphql/operation.ts';
import { validateDocument } from '../../src/graphql/plugins/documents.ts';
import { findVariableIssues } from '../../src/graphql/variables.ts';
import { createBodyReader } from '../../src/http/read-body.ts';
import { createHub } from '../../src/live/hub.ts';
import { createLog } from '../../src/log.ts';
import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import { createLimiters } from '../../src/quota/limiters.ts';
import { createQuota } from '../../src/quota/quota.ts';
import { ReadScheduler } from '../../src/quota/read-scheduler.ts';
import { RunningDocuments } from '../../src/quota/running-documents.ts';
import { createServedSchemas } from '../../src/schema.ts';
import { toTime } from '../../src/values/time.ts';
import { settingsFor, useGateway } from '../support/gateway.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { arbitraryQueries } from './arbitrary-queries.ts';

/* A compiled operation must return exactly what graphql-js returns for it, byte for byte. */

const limits = { reads: 0, writes: 0, platform: 0, tasks: 0 };
const quota = createQuota(
  limits,
  createLimiters(limits, undefined, () => undefined),
);
const { graphql: schema } = createServedSchemas(quota);

const gateway = useGateway();
let database: Database;
beforeAll(async () => {
  for (const kind of notificationKinds) await publish(gateway, 'alice', kind, { id: `n-${kind}` });
  await putWorkspaces(gateway, 'alice', [
    workspaceInput(),
    workspaceInput({ status: 'ERROR', errorMessage: 'out' }),
  ]);
  database = await openDatabase({ url: gateway.database.url, poolSize: 2, timeoutMs: 5000 });
});
afterAll(() => database.close());

/** Creates a context in which alice has every scope and membership. */
function createFullContext(): Context {
  return {
    database,
    viewer: {
      userId: 'alice',
      caller: 'alice',
      scopes: new Set(scopes),
      isMember: true,
      expiresAt: Number.MAX_SAFE_INTEGER,
      signedBy: '',
    },
    now: toTime(new Date()),
    log: createLog('silent', new Writable({ write: (_chunk, _encoding, done) => done() })),
    operations: new Set(),
    failures: [],
    published: [],
    answered: [],
    runningDocument: undefined,
    cipher: createCredentialCipher(keys),
    hub: createHub(1),
    readBody: createBodyReader(),
    announce: () => undefined,
    outbox: createOutbox(readConfig({}).delivery),
    push: null,
    readScheduler: new ReadScheduler(),
    runningDocuments: new RunningDocuments(),
    quota,
    onLeave: () => undefined,
    charges: { admitted: 0, minimum: 1, isBlocked: false, onChange: () => undefined },
  };
}

const keys = readConfig(settingsFor({ url: 'postgres://unused' })).encryptionKeys ?? new Map();

function createOperation(query: string): Operation | undefined {
  const document = parse(query);
  if (validateDocument(schema, document).length > 0) return undefined;
  return findOperation(schema, document, undefined);
}

/** Formats a reply. Fields of a query run at once, so the order of their errors is that in which they fail. */
function format(result: Parameters<typeof maskResult>[0]): string {
  const { reply, httpErrors } = maskResult(result, createFullContext());
  const sort = (errors: readonly object[] = []) => errors.map((error) => JSON.stringify(error)).toSorted();
  return JSON.stringify([{ ...reply, errors: sort(reply.errors) }, sort(httpErrors)]);
}

test('a compiled operation returns the same as the interpreted one, for queries over the whole schema', {
  timeout: 60_000,
}, async () => {
  const counts = { valid: 0, compiled: 0 };
  await fc.assert(
    fc.asyncProperty(arbitraryQueries, async ({ query, variables }) => {
      const operation = createOperation(query);
      if (operation === undefined) return;
      counts.valid += 1;
      // Other variables are rejected before the operation runs.
      if (findVariableIssues(operation.variables, variables, 1).length > 0) return;
      if (!isCompilable(schema, operation)) return;
      const compiled = compile(schema, operation);
      if (compiled === undefined) return;
      counts.compiled += 1;
      const [expected, found] = await Promise.all([
        execute({
          schema,
          document: operation.document,
          rootValue: {},
          variableValues: variables,
          contextValue: createFullContext(),
        }),
        compiled.query({}, createFullContext(), variables),
      ]);
      expect(format(found)).toBe(format(expected));
    }),
    { numRuns: 1000 },
  );
  expect(counts.valid).toBeGreaterThan(300);
  expect(counts.compiled).toBeGreaterThan(150);
});

test.each<[isCompiled: boolean, what: string, query: string]>([
  [
    true,
    'a list with constant arguments',
    '{ notifications(first: 2, filter: { statuses: [ACTIVE] }) { nodes { __typename } } }',
  ],
  [
    true,
    "variables of exactly the argument's type",
    'query ($n: Int = 1) { notifications(first: $n) { nodes { __typename } } }',
  ],
  [true, 'a non-null variable', 'query ($n: Int!) { notifications(first: $n) { nodes { __typename } } }'],
  [true, 'fragments', '{ notifications { ...F } } fragment F on NotificationConnection { totalCount }'],
  [false, 'a mutation', 'mutation { deleteEditorAuth { editorAuth { needsReauth } } }'],
  [false, 'a subscription', 'subscription { editorAuthEvents { editorAuth { needsReauth } } }'],
  [false, 'introspection', '{ __schema { queryType { name } } }'],
  [false, 'introspection of a type', '{ __type(name: "Query") { name } }'],
  [
    false,
    'a variable inside a list literal',
    'query ($k: NotificationKind!) { notifications(filter: { kinds: [$k] }) { totalCount } }',
  ],
  [
    false,
    'a nullable variable with a default value',
    'query ($id: ID = "a") { notification(id: $id) { __typename } }',
  ],
  [false, 'a conditional field', '{ notifications { totalCount @skip(if: true) } }'],
  [false, 'an alias that begins with two underscores', '{ __proto__: notificationCounts { total } }'],
  [
    false,
    'a fragment that is used twice',
    '{ a: notifications { ...F } b: notifications { ...F } } fragment F on NotificationConnection { totalCount }',
  ],
  [false, 'a document with several operations', 'query A { __typename } query B { __typename }'],
  [false, 'a long document', `{ notificationCounts { total } } #${' '.repeat(9000)}`],
])('whether it is compiled (%s): %s', (isCompiled, _what, query) => {
  const operation = findOperation(schema, parse(query), query.startsWith('query A') ? 'A' : undefined);

  expect(operation && isCompilable(schema, operation)).toBe(isCompiled);
});
