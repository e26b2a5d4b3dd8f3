import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Config, ConfigError, readConfig, settingNames } from '../../src/config.ts';
import { Secret } from '../../src/values/secret.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { jwks } from '../support/tokens.ts';

let folder: string;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => removeFolder(folder));

const keyText = 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoxMjM0NTY=';

function collectIssues(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
    throw error;
  }
  return [];
}

const VAPID_PRIVATE_KEY = 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw';
const signIn = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];
const token = 'x'.repeat(16);

/** A value of each setting, its place in the configuration, and how it is read. */
const settings: [name: string, value: string, place: string, is: unknown][] = [
  ['NODE_ENV', 'production', 'production', true],
  ['HOST', '0.0.0.0', 'host', '0.0.0.0'],
  ['PORT', '0', 'port', 0],
  ['PUBLIC_URL', 'https://a.test/b/', 'publicUrl', 'https://a.test/b'],
  ['DATABASE_URL', 'postgres://u:p@db.test/g', 'databaseUrl', 'postgres://u:p@db.test/g'],
  ['DATA_DIR', '/data', 'dataDir', '/data'],
  ['DATABASE_POOL_SIZE', '3', 'databasePoolSize', 3],
  ['DATABASE_TIMEOUT_MS', '100', 'databaseTimeoutMs', 100],
  ['AUTH_JWKS_URL', 'https://issuer.test/keys', 'keySet.kind', 'remote'],
  ['AUTH_JWKS_MAX_STALE_SECONDS', '3600', 'keySetMaxStaleSeconds', 3600],
  ['AUTH_ISSUER', 'https://issuer.test', 'issuer', 'https://issuer.test'],
  ['AUTH_AUDIENCE', 'gateway', 'audience', 'gateway'],
  ['AUTH_ORG_CLAIM', 'organization', 'orgClaim', 'organization'],
  ['AUTH_SCOPE_CLAIMS', 'scp  a.test/b ', 'scopes.claims', ['scp', 'a.test/b']],
  ['AUTH_SCOPE_PREFIX', 'https://a.test/', 'scopes.prefix', 'https://a.test/'],
  ['AUTH_SIGN_IN_SCOPES', 'openid aws.admin', 'scopes.signIn', ['openid', 'aws.admin']],
  ['AUTH_REQUIRE_SCOPES', 'true', 'scopes.required', true],
  ['AUTH_TASK_USER_CLAIM', 'user', 'taskClaims.user', 'user'],
  ['AUTH_TASK_CLAIM', 'task', 'taskClaims.task', 'task'],
  ['AUTH_PROJECT_CLAIM', 'project', 'taskClaims.project', 'project'],
  ['ENCRYPTION_KEYS', `new:${keyText}, old:${keyText}`, 'encryptionKeys', ['new', 'old']],
  ['REDIS_URL', 'redis://redis.test:6379', 'redisUrl', 'redis://redis.test:6379'],
  ['CORS_ORIGINS', 'https://a.test, https://b.test', 'corsOrigins', ['https://a.test', 'https://b.test']],
  ['MAX_SUBSCRIBERS', '4', 'maxSubscribers', 4],
  ['LIVE_SWEEP_MS', '1000', 'liveSweepMs', 1000],
  ['NOTIFICATION_RETENTION_DAYS', '30', 'notificationRetentionDays', 30],
  ['RATE_LIMIT_READS_PER_MINUTE', '1', 'limits.reads', 1],
  ['RATE_LIMIT_WRITES_PER_MINUTE', '2', 'limits.writes', 2],
  ['RATE_LIMIT_PLATFORM_PER_MINUTE', '3', 'limits.platform', 3],
  ['RATE_LIMIT_TASKS_PER_MINUTE', '4', 'limits.tasks', 4],
  ['REUSE_PORT', 'true', 'reusePort', true],
  ['GRAPHIQL', 'false', 'graphiql', false],
  ['METRICS_TOKEN', token, 'metrics.kind', 'token'],
  ['READY_DELAY_MS', '8000', 'readyDelayMs', 8000],
  ['SHUTDOWN_DELAY_MS', '5000', 'shutdownDelayMs', 5000],
  ['SHUTDOWN_GRACE_MS', '20000', 'shutdownGraceMs', 20_000],
  ['LOG_LEVEL', 'silent', 'logLevel', 'silent'],
  ['ADMIN_HOST', '0.0.0.0', 'admin.host', '0.0.0.0'],
  ['ADMIN_PORT', '9464', 'admin.port', 9464],
  ['SMTP_URL', 'smtps://u:p%40@a.test', 'delivery.email.url', 'smtps://u:p%40@a.test'],
  ['SMTP_FROM', 'Acme <a@b.test>', 'delivery.email.from', { name: 'Acme', address: 'a@b.test' }],
  ['DELIVERY_EMAIL_DELAY_SECONDS', '0', 'delivery.email.delaySeconds', 0],
  ['VAPID_PRIVATE_KEY', VAPID_PRIVATE_KEY, 'delivery.push.privateKey.type', 'private'],
  ['VAPID_SUBJECT', 'mailto:a@example.com', 'delivery.push.subject', 'mailto:a@example.com'],
  ['PUSH_ALLOWED_HOSTS', 'a.test:8443, B.test', 'delivery.push.allowedHosts', ['a.test:8443', 'b.test']],
  ['CHAT_TOKEN', 'xoxb-1', 'delivery.chat.token', 'xoxb-1'],
  ['CHAT_SIGNING_SECRET', token, 'delivery.chat.signingSecret', token],
  ['CHAT_API_URL', 'https://a.test/api/', 'delivery.chat.apiUrl', 'https://a.test/api'],
  ['APP_URL', 'https://a.test/{id}', 'delivery.appUrl', 'https://a.test/{id}'],
  ['ANSWER_LINKS', 'questions', 'delivery.answerLinks', 'questions'],
  ['DELIVERY', 'false', 'delivery.sends', false],
];

/** Returns what is at a place such as `metrics.kind`: the content of a secret, and the IDs of keys. */
function find(config: Config, place: string): unknown {
  const value = place.split('.').reduce<unknown>((part, name) => Reflect.get(Object(part), name), config);
  if (value instanceof Secret) return value.reveal();
  return value instanceof Map ? [...value.keys()] : value;
}

test('every setting is read, without warnings', () => {
  // AUTH_JWKS cannot be combined with AUTH_JWKS_URL.
  expect(new Set([...settings.map(([name]) => name), 'AUTH_JWKS'])).toEqual(new Set(settingNames));
  const config = readConfig(Object.fromEntries(settings));
  for (const [name, , place, is] of settings) expect(find(config, place), name).toEqual(is);
  expect(config.warnings).toEqual([]);
});

test('without settings, a gateway for development is configured', () => {
  // Defaults of one word are compared with the documentation in docs/values.test.ts.
  expect(readConfig({})).toMatchObject({
    production: false,
    publicUrl: null,
    databaseUrl: null,
    keySet: { kind: 'development' },
    issuer: null,
    audience: null,
    scopes: { claims: ['scope', 'scp'], prefix: '', signIn },
    encryptionKeys: null,
    redisUrl: null,
    corsOrigins: [],
    metrics: { kind: 'open' },
    delivery: { email: null, push: null, chat: null, appUrl: null },
    warnings: [],
  });
});

/* The ranges of numbers are compared with the documentation in docs/values.test.ts. */
const badValues: Record<string, string[]> = {
  NODE_ENV: ['prodution', 'PRODUCTION', ' '],
  PORT: ['-1', '65536', '4000.5', '1e3', '0x10', ' 4000', 'http'],
  PUBLIC_URL: ['a.test', 'ftp://a.test', '/account', 'https://', 'https://a.test/?b', 'https://a.test/#b'],
  DATABASE_URL: ['localhost', 'mysql://localhost/gateway', 'localhost:5432'],
  DATABASE_TIMEOUT_MS: ['99', '5s', 'Infinity'],
  AUTH_JWKS_URL: ['issuer.test', 'file:///etc/passwd'],
  AUTH_JWKS: [
    '/no/such/file',
    '{',
    '{}',
    '{"keys":[]}',
    '{"keys":[{}]}',
    '{"keys":"RSA"}',
    '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"YQ","d":"YQ"}]}',
  ],
  AUTH_SCOPE_CLAIMS: ['scope,scp', '"scope scp"', "'scope scp'", 'scope;scp', 'scope\tscp', ' '],
  AUTH_SCOPE_PREFIX: ['gateway/ ', 'a b/', '"gateway/"', 'gateway\\', 'gäteway/'],
  AUTH_SIGN_IN_SCOPES: ['openid,profile', '"openid profile"', ' ', 'openid account:read', 'platform:write'],
  ENCRYPTION_KEYS: [
    keyText,
    `:${keyText}`,
    'k1:',
    'k1:c2hvcnQ=',
    `k1:${keyText},`,
    `k1:${keyText},k1:${keyText}`,
    `k 1:${keyText}`,
    `k1:${keyText}${keyText}`,
  ],
  GRAPHIQL: ['yes', '1', 'True'],
  METRICS_TOKEN: ['short', 'fifteen-letters', 'a token with spaces', 'a-token-with-ümlaut', 'x'.repeat(1025)],
  LOG_LEVEL: ['verbose', 'INFO'],
  PUSH_ALLOWED_HOSTS: ['https://push.test', 'push.test/path', 'push.test,', 'push.test:443'],
  CHAT_TOKEN: ['a token', 'token-with-ümlaut', 'x'.repeat(1025)],
  CHAT_API_URL: ['chat.test', 'ftp://chat.test', 'http://chat.test/api'],
  APP_URL: ['https://app.test/inbox', 'https://app.test/{id}/{id}', 'app.test/{id}', 'javascript:{id}'],
};

/** Values that are invalid even with the settings that they require. */
const badPairs: [name: string, other: Record<string, string>, values: string[]][] = [
  ['SMTP_URL', { SMTP_FROM: 'a@example.com' }, ['mail.test', 'http://mail.test', 'smtp:///']],
  ['SMTP_FROM', { SMTP_URL: 'smtp://a.test' }, ['No address', 'a@', 'A <a@b.test', 'A\nB <a@b.test>']],
  ['VAPID_PRIVATE_KEY', { VAPID_SUBJECT: 'mailto:a@b.test' }, ['short', 'A'.repeat(43), 'x'.repeat(44)]],
  ['VAPID_SUBJECT', { VAPID_PRIVATE_KEY }, ['a@example.com', 'http://a']],
  ['CHAT_TOKEN', { CHAT_SIGNING_SECRET: token }, ['a token']],
];

test.each(badPairs)(
  '%s is required with %j; invalid values are rejected, but not shown',
  (name, other, values) => {
    expect(collectIssues(other)).toEqual([`${name}: is required with ${Object.keys(other)}`]);
    for (const value of values) {
      const issues = collectIssues({ ...other, [name]: value });
      expect(issues).toEqual([expect.stringMatching(new RegExp(`^${name}: must \\w`))]);
      expect(issues.join()).not.toContain(value);
    }
  },
);

test.each(Object.entries(badValues))(
  '%s: an empty value is unset, and these are rejected: %j',
  (name, values) => {
    expect(readConfig({ [name]: '' })).toEqual(readConfig({}));
    for (const value of values)
      expect(collectIssues({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name}: \\w`))]);
  },
);

test('production reports every missing setting together with invalid ones', () => {
  const names = collectIssues({ NODE_ENV: 'production', PORT: 'http' }).map(
    (issue) => issue.split(':', 1)[0],
  );
  expect(names).toEqual([
    'PORT',
    'DATABASE_URL',
    'AUTH_ISSUER',
    'AUTH_AUDIENCE',
    'ENCRYPTION_KEYS',
    'AUTH_JWKS_URL',
  ]);
});

test('a host that other machines reach requires a configured key set', () => {
  for (const HOST of ['0.0.0.0', '::', '192.168.1.5', 'gateway.test', '127.evil.test']) {
    expect(collectIssues({ HOST })).toEqual([
      expect.stringMatching(
        /^HOST: .* accepts connections from other machines, .* development key; set one of them/,
      ),
    ]);
    expect(readConfig({ HOST, AUTH_JWKS: JSON.stringify(jwks) }).host).toBe(HOST);
  }
  for (const HOST of ['127.0.0.1', '127.1.2.3', '::1', 'localhost'])
    expect(readConfig({ HOST }).host).toBe(HOST);
});

const keys = { AUTH_JWKS: JSON.stringify(jwks) };
const production = {
  ...keys,
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://db.test/gateway',
  AUTH_ISSUER: 'issuer',
  AUTH_AUDIENCE: 'gateway',
  ENCRYPTION_KEYS: `k1:${keyText}`,
};

test('GraphiQL is off in production unless it is requested', () => {
  expect(readConfig(keys).graphiql).toBe(true);
  expect(readConfig(production).graphiql).toBe(false);
  expect(readConfig({ ...production, GRAPHIQL: 'true' }).graphiql).toBe(true);
});

test('metrics are public on a loopback address only, in production only on that of the admin port', () => {
  expect(readConfig({}).metrics).toEqual({ kind: 'open' });
  expect(readConfig({ ...keys, HOST: '0.0.0.0' }).metrics).toEqual({ kind: 'off' });
  expect(readConfig(production).metrics).toEqual({ kind: 'off' });
  expect(readConfig({ ...production, METRICS_TOKEN: token }).metrics.kind).toBe('token');
  expect(readConfig({ ...production, ADMIN_PORT: '9464' }).metrics).toEqual({ kind: 'open' });
  const everywhere = { ...production, ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '9464' };
  expect(readConfig(everywhere).metrics).toEqual({ kind: 'off' });
  expect(readConfig({ ...everywhere, METRICS_TOKEN: token }).metrics.kind).toBe('token');
});

test.each<[environment: Record<string, string>, issue: string]>([
  [{ AUTH_TASK_CLAIM: 'task' }, 'AUTH_TASK_USER_CLAIM: is required with AUTH_TASK_CLAIM'],
  [{ AUTH_TASK_USER_CLAIM: 'user' }, 'AUTH_TASK_CLAIM: is required with AUTH_TASK_USER_CLAIM'],
  [
    { AUTH_TASK_USER_CLAIM: 'sub', AUTH_TASK_CLAIM: 'sub' },
    'AUTH_TASK_CLAIM: must differ from AUTH_TASK_USER_CLAIM',
  ],
  [{ ADMIN_HOST: '0.0.0.0' }, 'ADMIN_PORT: is required with ADMIN_HOST'],
  [{ ADMIN_PORT: '04000' }, 'ADMIN_PORT: must differ from PORT'],
  [{ ADMIN_PORT: '4000', ADMIN_HOST: '::' }, 'ADMIN_PORT: must differ from PORT'],
  [
    { AUTH_SCOPE_PREFIX: 'gateway/', AUTH_SIGN_IN_SCOPES: 'openid gateway/access' },
    'AUTH_SIGN_IN_SCOPES: must name scopes without AUTH_SCOPE_PREFIX',
  ],
  [
    { CHAT_TOKEN: 'x', CHAT_SIGNING_SECRET: 'short' },
    expect.stringContaining('CHAT_SIGNING_SECRET: must be 16'),
  ],
  [{ ANSWER_LINKS: 'questions' }, 'PUBLIC_URL: is required with ANSWER_LINKS'],
  [{ ANSWER_LINKS: 'All', PUBLIC_URL: 'https://a.test' }, 'ANSWER_LINKS: must be off, questions or all'],
  [
    { AUTH_JWKS: JSON.stringify(jwks), AUTH_JWKS_URL: 'https://issuer.test/keys' },
    'AUTH_JWKS: cannot be combined with AUTH_JWKS_URL; unset one of them',
  ],
  [
    { ENCRYPTION_KEYS: `k1:${keyText},k2:c2hvcnQ=` },
    'ENCRYPTION_KEYS: key 2 must be <id>:<base64 of 32 bytes>; got 5 bytes. Generate one with: openssl rand -base64 32',
  ],
])('rejects %j', (environment, issue) => {
  expect(collectIssues(environment)).toEqual([issue]);
});

test('the admin port may equal the public port on another address, and both may be chosen', () => {
  expect(collectIssues({ ADMIN_PORT: '4000', ADMIN_HOST: '127.0.0.2' })).toEqual([]);
  expect(readConfig({ ADMIN_PORT: '0', PORT: '0' }).admin).toEqual({ host: '127.0.0.1', port: 0 });
});

test.each([
  ['a@example.com', ''],
  ['Acme <a@example.com>', 'Acme'],
  ['"Acme, Inc." <a@example.com>', 'Acme, Inc.'],
  ['"The \\"A\\" team" <a@example.com>', 'The "A" team'],
  ['A "quoted" name <a@example.com>', 'A "quoted" name'],
])('the sender of SMTP_FROM=%s is named %j', (SMTP_FROM, name) => {
  const { delivery } = readConfig({ SMTP_URL: 'smtp://localhost', SMTP_FROM });
  expect(delivery.email?.from).toEqual({ name, address: 'a@example.com' });
});

const email = { SMTP_URL: 'smtp://localhost', SMTP_FROM: 'gateway@example.com' };
const PUBLIC_URL = 'https://gateway.example.com';

test.each<[environment: Record<string, string>, warnings: string[]]>([
  [
    { AUTH_SCOPE_PREFIX: 'gateway' },
    [
      'AUTH_SCOPE_PREFIX: ends without a separator, so a scope is gatewayaccount:read; did you mean gateway/?',
    ],
  ],
  [{ AUTH_SCOPE_PREFIX: 'gateway/' }, []],
  [{ AUTH_SCOPE_PREFIX: 'urn:gateway:' }, []],
  [email, ['PUBLIC_URL: is not set, so emails contain no link to unsubscribe']],
  [{ ...email, PUBLIC_URL }, []],
  [{ ANSWER_LINKS: 'off' }, []],
  [{ ANSWER_LINKS: 'questions', PUBLIC_URL }, []],
  [
    { ANSWER_LINKS: 'all', PUBLIC_URL },
    [
      'ANSWER_LINKS: is all, so anyone who has an email about a plan or a permission request can approve it; with questions, such emails have no link',
    ],
  ],
])('%j is accepted with the warnings %j', (environment, warnings) => {
  expect(readConfig(environment).warnings).toEqual(warnings);
});

describe('an unknown variable', () => {
  const readWarnings = (...names: string[]) =>
    readConfig(Object.fromEntries(names.map((name) => [name, 'value']))).warnings;

  test.each([
    ['RATE_LIMIT_READ_PER_MINUTE', 'RATE_LIMIT_READS_PER_MINUTE'],
    ['METRIC_TOKEN', 'METRICS_TOKEN'],
    ['LOG_LEVLE', 'LOG_LEVEL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['auth_issuer', 'AUTH_ISSUER'],
  ])('is reported if it resembles a setting: %s for %s', (name, meant) => {
    expect(readWarnings(name)).toEqual([`${name}: is not a setting and is ignored; did you mean ${meant}?`]);
  });

  test.each(['HOME', 'PATH', 'PORTS', 'HOSTNAME', 'LOG_DIR', 'POSTGRES_PASSWORD', 'npm_config_cache'])(
    'is ignored if it resembles no setting: %s',
    (name) => {
      expect(readWarnings(name)).toEqual([]);
    },
  );

  test('is reported if the setting it resembles is set too', () => {
    expect(readConfig({ REDIS_URI: 'value', REDIS_URL: 'redis://localhost' }).warnings).toEqual([
      'REDIS_URI: is not a setting and is ignored; did you mean REDIS_URL, which is set too?',
    ]);
  });

  test('is reported together with the errors that it may explain', () => {
    expect(() => readConfig({ ENCRYPTION_KEY: 'k1:', PORT: 'http' })).toThrow(
      /has 1 error:\n {2}PORT: .*\n {2}Warning: ENCRYPTION_KEY: is not a setting and is ignored; did you mean ENCRYPTION_KEYS\?$/,
    );
  });
});

test('accepts a key set as JSON text or as a file path', async () => {
  const path = join(folder, 'keys.json');
  await writeFile(path, JSON.stringify(jwks));
  expect(readConfig({ AUTH_JWKS: JSON.stringify(jwks) }).keySet).toEqual({ kind: 'local', jwks });
  expect(readConfig({ AUTH_JWKS: path }).keySet).toEqual({ kind: 'local', jwks });
  await writeFile(path, 'not json');
  expect(collectIssues({ AUTH_JWKS: path })).toEqual([expect.stringContaining('is not a JSON key set')]);
});

const ENCODE =
  'must have its user, password and path percent-encoded: "@" as %40, "/" as %2F, "#" as %23, "?" as %3F, "%" as %25';
const SEVERAL_HOSTS =
  'must name one host; for failover, set the address of a proxy, or an address that moves with the primary';
const USER_INFO = 'must not contain a user name or password, because it is logged';
const NO_PUBLIC_KEY =
  'contains no public key (kty RSA, EC or OKP), and tokens signed with a shared secret (kty oct) are not accepted; let the issuer sign with a private key';

describe('reports the rule and the fix to the operator, but not the value', () => {
  test.each([
    ['DATABASE_URL', 'postgres://u:pass@word@db.test/gateway', ENCODE],
    ['DATABASE_URL', 'postgres://u:pass/word@db.test/gateway', ENCODE],
    ['DATABASE_URL', 'postgres://u:pass#word@db.test/gateway', ENCODE],
    ['DATABASE_URL', 'postgres://u:pass%word@db.test/gateway', ENCODE],
    // A port, if the rest of the password is not considered.
    ['DATABASE_URL', 'postgres://u:12/word@db.test/gateway', ENCODE],
    ['DATABASE_URL', 'postgres://u:word@db-1.test:5432,db-2.test:5432/gateway', SEVERAL_HOSTS],
    ['DATABASE_URL', 'postgres:///gateway?host=db-1.test,db-2.test', SEVERAL_HOSTS],
    [
      'DATABASE_URL',
      'postgres://u:word@db.test:port/gateway',
      'must have a valid host, and a port from 1 to 65535',
    ],
    ['REDIS_URL', 'redis://:pass/word@redis.test:6379', ENCODE],
    ['SMTP_URL', 'smtps://u:pass/word@mail.test', ENCODE],
    ['AUTH_JWKS_URL', 'https://u:word@issuer.test/keys', USER_INFO],
    ['CHAT_API_URL', 'https://u:word@chat.test/api', USER_INFO],
    ['PUBLIC_URL', 'https://u:word@gateway.test', USER_INFO],
    ['AUTH_JWKS', '{"keys":[{"kty":"oct","k":"word"}]}', NO_PUBLIC_KEY],
  ])('%s=%s', (name, value, message) => {
    const required = name === 'SMTP_URL' ? { SMTP_FROM: 'a@example.com' } : {};
    expect(collectIssues({ ...required, [name]: value })).toEqual([`${name}: ${message}`]);
    expect(message).not.toContain('word@');
  });

  test.each([
    ['DATABASE_URL', 'postgres://u:p%40%2F%23%3F%25@db.test/gateway?sslmode=require'],
    ['DATABASE_URL', 'postgres://u:a:b,c!d$e&f@db.test/gateway'],
    ['DATABASE_URL', 'postgres:///gateway?host=/var/run/postgresql&user=gateway@server'],
    ['DATABASE_URL', 'postgres://%2Fvar%2Frun%2Fpostgresql/gateway'],
    ['DATABASE_URL', 'postgresql://u@[::1]:5433/gateway'],
    ['REDIS_URL', 'rediss://u:p@w@redis.test:6379/1'],
    ['SMTP_URL', 'smtps://no-reply@example.com:word@mail.test'],
  ])('%s=%s is accepted', (name, value) => {
    const required = name === 'SMTP_URL' ? { SMTP_FROM: 'a@example.com' } : {};
    expect(collectIssues({ ...required, [name]: value })).toEqual([]);
  });
});

test('errors never contain secrets, and a printed configuration never contains keys', () => {
  const secret = 'a-secret-that-was-put-in-the-wrong-place';
  expect(collectIssues({ METRICS_TOKEN: `${secret} and more` }).join()).not.toContain(secret);
  expect(JSON.stringify(readConfig({ METRICS_TOKEN: secret }))).not.toContain(secret);
  for (const name of ['DATABASE_URL', 'AUTH_JWKS', 'AUTH_JWKS_URL', 'ENCRYPTION_KEYS', 'PORT', 'LOG_LEVEL']) {
    for (const value of [secret, `k1:${secret}`, `{"keys":["${secret}"]}`, `mysql://u:${secret}@h/d`]) {
      expect(collectIssues({ [name]: value }).join()).not.toContain(secret);
    }
  }
  const config = readConfig({ ENCRYPTION_KEYS: `k1:${keyText}` });
  expect(JSON.stringify([...(config.encryptionKeys ?? [])])).not.toContain(keyText.slice(0, 8));
});
