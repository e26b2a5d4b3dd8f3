import { createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { OperatorError } from './errors/operator-error.ts';

/** Where public keys come from; `development` is a key of our own below `DATA_DIR`. */
export type KeySetSource =
  | { kind: 'remote'; url: URL }
  | { kind: 'local'; jwks: JSONWebKeySet }
  | { kind: 'development' };

/** Who may read the metrics: anybody, who has the token, or nobody. */
export type MetricsAccess = { kind: 'open' } | { kind: 'token'; token: KeyObject } | { kind: 'off' };

/** Encryption keys in order, the first encrypts. `KeyObject`s do not print their bytes. */
export type EncryptionKeys = ReadonlyMap<string, KeyObject>;

/** The settings of one process. `null` stands for what is not configured. */
export type Config = {
  production: boolean;
  host: string;
  port: number;
  /** Whether other processes may listen on the same port. */
  reusePort: boolean;
  publicUrl: string | null;
  databaseUrl: string | null;
  dataDir: string;
  databasePoolSize: number;
  databaseTimeoutMs: number;
  keySet: KeySetSource;
  issuer: string | null;
  audience: string | null;
  orgClaim: string;
  encryptionKeys: EncryptionKeys | null;
  /** Requests a minute; 0 is no limit. */
  limits: { reads: number; writes: number; platform: number };
  redisUrl: string | null;
  /** Origins of web apps on other addresses, exactly as browsers send them. */
  corsOrigins: readonly string[];
  /** Live subscribers of this process at most. */
  maxSubscribers: number;
  /** Milliseconds between two comparisons of the connected users' revisions with what they have seen. */
  liveSweepMs: number;
  /** Days that resolved and dismissed notifications are kept; 0 is for ever. */
  notificationRetentionDays: number;
  graphiql: boolean;
  metrics: MetricsAccess;
  /** Milliseconds between telling load balancers of a stop and closing the port. */
  shutdownDelayMs: number;
  /** Milliseconds that requests have from then on. */
  shutdownGraceMs: number;
  logLevel: string;
};

const LOOPBACK = '127.0.0.1';

/** Lists every invalid setting, one per line, with the variable's name and what to set. */
export class ConfigError extends OperatorError {
  readonly issues: readonly string[];

  constructor(issues: readonly string[]) {
    super(
      `The configuration has ${issues.length} error${issues.length === 1 ? '' : 's'}:\n${issues.map((line) => `  ${line}`).join('\n')}`,
    );
    this.issues = issues;
  }
}

/**
 * Reads the settings.
 * @throws {ConfigError} listing every invalid setting
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(given);
  const broken = parsed.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
  const issues = [...broken, ...missing(given), ...conflicts(given)];
  if (!parsed.success || issues.length > 0) throw new ConfigError(issues);
  const settings = parsed.data;
  return {
    production: settings.NODE_ENV === 'production',
    host: settings.HOST,
    port: settings.PORT,
    reusePort: settings.REUSE_PORT,
    publicUrl: settings.PUBLIC_URL ?? null,
    databaseUrl: settings.DATABASE_URL ?? null,
    dataDir: settings.DATA_DIR,
    databasePoolSize: settings.DATABASE_POOL_SIZE,
    databaseTimeoutMs: settings.DATABASE_TIMEOUT_MS,
    keySet: keySetSource(settings),
    issuer: settings.AUTH_ISSUER ?? null,
    audience: settings.AUTH_AUDIENCE ?? null,
    orgClaim: settings.AUTH_ORG_CLAIM,
    encryptionKeys: settings.ENCRYPTION_KEYS ?? null,
    limits: {
      reads: settings.RATE_LIMIT_READS_PER_MINUTE,
      writes: settings.RATE_LIMIT_WRITES_PER_MINUTE,
      platform: settings.RATE_LIMIT_PLATFORM_PER_MINUTE,
    },
    redisUrl: settings.REDIS_URL ?? null,
    corsOrigins: settings.CORS_ORIGINS,
    maxSubscribers: settings.MAX_SUBSCRIBERS,
    liveSweepMs: settings.LIVE_SWEEP_MS,
    notificationRetentionDays: settings.NOTIFICATION_RETENTION_DAYS,
    graphiql: settings.GRAPHIQL,
    metrics: metricsAccess(settings),
    shutdownDelayMs: settings.SHUTDOWN_DELAY_MS,
    shutdownGraceMs: settings.SHUTDOWN_GRACE_MS,
    logLevel: settings.LOG_LEVEL,
  };
}

/** The environment for a process that is to run with other settings. */
export function environmentWith(settings: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...settings };
}

function wholeNumber(least: number, most: number) {
  const rule = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, rule)
    .transform(Number)
    .refine((value) => value >= least && value <= most, rule);
}

function yesOrNo(unlessTold: 'true' | 'false') {
  return z
    .enum(['true', 'false'], 'must be true or false')
    .default(unlessTold)
    .transform((word) => word === 'true');
}

function address(...protocols: string[]) {
  const rule = `must be an address that starts with ${protocols.map((name) => `${name}//`).join(' or ')}`;
  return z.string().refine((text) => protocols.includes(URL.parse(text)?.protocol ?? ''), rule);
}

const origins = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine(
    (parts) => parts.every((part) => /^https?:/.test(part) && URL.parse(part)?.origin === part),
    'must be origins, comma-separated: https://app.example.com, without a path or a slash at the end',
  );

/** A fault that never repeats what it was given: keys are secrets. */
function fault(context: z.core.$RefinementCtx, message: string) {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

const jwks = z.string().transform((text, context): JSONWebKeySet => {
  let content = text;
  if (!text.trimStart().startsWith('{')) {
    try {
      content = readFileSync(text, 'utf8');
    } catch {
      return fault(context, `is neither a JSON key set nor the path of a readable file`);
    }
  }
  try {
    const keySet = KeySet.parse(JSON.parse(content));
    // Such a set is a leak, and none of its tokens would be taken.
    if (keySet.keys.some((key) => 'd' in key))
      return fault(context, 'holds a private key: set public ones only');
    return keySet;
  } catch {
    return fault(context, 'is not a JSON key set: expected {"keys": [...]} with at least one key');
  }
});

const KeySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) });

const encryptionKeys = z.string().transform((text, context): EncryptionKeys => {
  const keys = new Map<string, KeyObject>();
  for (const [index, part] of text.split(',').entries()) {
    const [, id, base64] = /^\s*([\w.-]{1,64}):([A-Za-z0-9+/_-]+={0,2})\s*$/.exec(part) ?? [];
    const bytes = Buffer.from(base64 ?? '', 'base64');
    if (id === undefined || bytes.length !== 32) {
      return fault(
        context,
        `key ${index + 1} must be written id:base64 with 32 bytes (openssl rand -base64 32)`,
      );
    }
    if (keys.has(id)) return fault(context, `the key id "${id}" is given twice`);
    keys.set(id, createSecretKey(bytes));
  }
  return keys;
});

/** Printable ASCII without spaces, so that it fits into a header. */
const metricsToken = z
  .string()
  .regex(/^[!-~]{16,1024}$/, 'must be 16 to 1024 printable characters without spaces (openssl rand -hex 32)')
  .transform((text) => createSecretKey(Buffer.from(text)));

const Environment = z.object({
  // A misspelt "production" must not bring the development defaults.
  NODE_ENV: z
    .enum(['production', 'development', 'test'], 'must be production, development or test')
    .optional(),
  HOST: z.string().default(LOOPBACK),
  PORT: wholeNumber(0, 65_535).default(4000),
  REUSE_PORT: yesOrNo('false'),
  PUBLIC_URL: address('http:', 'https:')
    .refine((url) => !/[?#]/.test(url), 'must have neither a query nor a fragment')
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  DATABASE_URL: address('postgres:', 'postgresql:').optional(),
  DATA_DIR: z.string().default('.data'),
  DATABASE_POOL_SIZE: wholeNumber(1, 1000).default(10),
  DATABASE_TIMEOUT_MS: wholeNumber(100, 600_000).default(5000),
  AUTH_JWKS_URL: address('http:', 'https:').optional(),
  AUTH_JWKS: jwks.optional(),
  AUTH_ISSUER: z.string().optional(),
  AUTH_AUDIENCE: z.string().optional(),
  AUTH_ORG_CLAIM: z.string().default('org_id'),
  ENCRYPTION_KEYS: encryptionKeys.optional(),
  RATE_LIMIT_READS_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(600),
  RATE_LIMIT_WRITES_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(120),
  RATE_LIMIT_PLATFORM_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(0),
  REDIS_URL: address('redis:', 'rediss:').optional(),
  CORS_ORIGINS: origins.default([]),
  MAX_SUBSCRIBERS: wholeNumber(1, 1_000_000).default(10_000),
  LIVE_SWEEP_MS: wholeNumber(100, 600_000).default(5000),
  NOTIFICATION_RETENTION_DAYS: wholeNumber(0, 36_500).default(90),
  GRAPHIQL: yesOrNo('true'),
  METRICS_TOKEN: metricsToken.optional(),
  SHUTDOWN_DELAY_MS: wholeNumber(0, 300_000).default(0),
  SHUTDOWN_GRACE_MS: wholeNumber(0, 300_000).default(10_000),
  LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info'),
});

/** The environment variables that are read. */
export const settingNames: readonly string[] = Object.keys(Environment.shape);

/** In production nothing is made up; what is missing is named with what it is for. */
function missing(given: Record<string, string | undefined>): string[] {
  if (given.NODE_ENV !== 'production') return [];
  const needed = {
    DATABASE_URL: 'the address of PostgreSQL 14 or later',
    AUTH_ISSUER: 'the "iss" that tokens carry',
    AUTH_AUDIENCE: 'the "aud" that tokens carry',
    ENCRYPTION_KEYS: 'the keys that editor credentials are encrypted with (id:base64 of 32 bytes)',
  };
  const issues = Object.entries(needed)
    .filter(([name]) => given[name] === undefined)
    .map(([name, what]) => `${name}: is required with NODE_ENV=production: ${what}`);
  if (given.AUTH_JWKS_URL === undefined && given.AUTH_JWKS === undefined) {
    issues.push(
      'AUTH_JWKS_URL: is required with NODE_ENV=production (or AUTH_JWKS): the key set that tokens are verified against',
    );
  }
  return issues;
}

/** Settings that are right each for itself, and wrong together. */
function conflicts(given: Record<string, string | undefined>): string[] {
  const { NODE_ENV, HOST = LOOPBACK, AUTH_JWKS_URL, AUTH_JWKS } = given;
  if (AUTH_JWKS_URL !== undefined && AUTH_JWKS !== undefined) {
    return ['AUTH_JWKS: set it or AUTH_JWKS_URL, not both'];
  }
  const isDevelopmentKey = AUTH_JWKS_URL === undefined && AUTH_JWKS === undefined;
  if (!isDevelopmentKey || NODE_ENV === 'production' || isLoopback(HOST)) return [];
  return [
    `HOST: "${HOST}" can be reached from other machines, and tokens would be signed by the development key: set AUTH_JWKS_URL or AUTH_JWKS, or leave HOST at ${LOOPBACK}`,
  ];
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Without a token only a gateway on one's own machine tells its metrics. */
function metricsAccess({ METRICS_TOKEN, NODE_ENV, HOST }: z.output<typeof Environment>): MetricsAccess {
  if (METRICS_TOKEN !== undefined) return { kind: 'token', token: METRICS_TOKEN };
  return NODE_ENV !== 'production' && isLoopback(HOST) ? { kind: 'open' } : { kind: 'off' };
}

function keySetSource(settings: z.output<typeof Environment>): KeySetSource {
  if (settings.AUTH_JWKS_URL !== undefined) return { kind: 'remote', url: new URL(settings.AUTH_JWKS_URL) };
  if (settings.AUTH_JWKS !== undefined) return { kind: 'local', jwks: settings.AUTH_JWKS };
  return { kind: 'development' };
}
