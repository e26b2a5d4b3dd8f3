import type { JSONWebKeySet } from 'jose';
import type { z } from 'zod';
import { findConflicts, findMissing, findOmissions } from './config/check-settings.ts';
import { type DeliveryConfig, readDelivery } from './config/delivery-config.ts';
import { Environment } from './config/environment.ts';
import type { EncryptionKeys } from './config/formats.ts';
import { isLoopback } from './config/hosts.ts';
import { findMisspellings } from './config/misspellings.ts';
import { OperatorError } from './errors/operator-error.ts';
import type { Secret } from './values/secret.ts';

/** The source of the public keys. `development` is a key generated in `DATA_DIR`. */
export type KeySetSource =
  | { kind: 'remote'; url: URL }
  | { kind: 'local'; jwks: JSONWebKeySet }
  | { kind: 'development' };

/** Access to the metrics: open, with a token, or off. */
export type MetricsAccess = { kind: 'open' } | { kind: 'token'; token: Secret } | { kind: 'off' };

export type { ChatConfig, DeliveryConfig, EmailConfig, PushConfig } from './config/delivery-config.ts';
export type { EncryptionKeys } from './config/formats.ts';

/** The settings of one process. `null` means not configured. */
export type Config = {
  production: boolean;
  host: string;
  port: number;
  /** Whether other processes may listen on the same port. */
  reusePort: boolean;
  /** The address of the admin server, which no other process shares. */
  admin: { host: string; port: number } | null;
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
  /** Points per minute and user; 0 means unlimited. */
  limits: { reads: number; writes: number; platform: number };
  redisUrl: string | null;
  /** Allowed CORS origins, exactly as browsers send them. */
  corsOrigins: readonly string[];
  /** Maximum number of live subscribers of this process. */
  maxSubscribers: number;
  /** Milliseconds between two checks for changes that were not announced. */
  liveSweepMs: number;
  /** Days that resolved and dismissed notifications are kept; 0 means forever. */
  notificationRetentionDays: number;
  delivery: DeliveryConfig;
  graphiql: boolean;
  metrics: MetricsAccess;
  /** Milliseconds from the moment when readiness checks start to fail until the port is closed. */
  shutdownDelayMs: number;
  /** Milliseconds that running requests have to finish after the port is closed. */
  shutdownGraceMs: number;
  logLevel: string;
  /** Variables that are probably misspelled settings, and settings that are probably missing. */
  warnings: readonly string[];
};

/** Lists every invalid setting, then the warnings, one per line, with the variable's name and the fix. */
export class ConfigError extends OperatorError {
  readonly issues: readonly string[];

  constructor(issues: readonly string[], warnings: readonly string[] = []) {
    const lines = [...issues, ...warnings].map((line) => `  ${line}`).join('\n');
    super(`The configuration has ${issues.length} error${issues.length === 1 ? '' : 's'}:\n${lines}`);
    this.issues = issues;
  }
}

/**
 * Reads the settings from environment variables; empty variables count as unset.
 * @throws {ConfigError} listing every invalid setting
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(given);
  const invalid = parsed.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
  const issues = [...invalid, ...findMissing(given), ...findConflicts(given)];
  const warnings = [...findMisspellings(Object.keys(given), settingNames), ...findOmissions(given)];
  if (!parsed.success || issues.length > 0) throw new ConfigError(issues, warnings);
  const settings = parsed.data;
  return {
    production: settings.NODE_ENV === 'production',
    host: settings.HOST,
    port: settings.PORT,
    reusePort: settings.REUSE_PORT,
    admin: readAdmin(settings),
    publicUrl: settings.PUBLIC_URL ?? null,
    databaseUrl: settings.DATABASE_URL ?? null,
    dataDir: settings.DATA_DIR,
    databasePoolSize: settings.DATABASE_POOL_SIZE,
    databaseTimeoutMs: settings.DATABASE_TIMEOUT_MS,
    keySet: readKeySetSource(settings),
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
    delivery: readDelivery(settings),
    graphiql: settings.GRAPHIQL,
    metrics: readMetricsAccess(settings),
    shutdownDelayMs: settings.SHUTDOWN_DELAY_MS,
    shutdownGraceMs: settings.SHUTDOWN_GRACE_MS,
    logLevel: settings.LOG_LEVEL,
    warnings,
  };
}

/** Copies the environment of this process, with some settings replaced. */
export function extendEnvironment(settings: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...settings };
}

type Settings = z.output<typeof Environment>;

/** The names of all settings. */
export const settingNames: readonly string[] = Object.keys(Environment.shape);

function readAdmin({ ADMIN_HOST, ADMIN_PORT }: Settings): Config['admin'] {
  return ADMIN_PORT === undefined ? null : { host: ADMIN_HOST, port: ADMIN_PORT };
}

/**
 * Without a token, metrics are served only on a loopback address. In production that must be the admin port, because a
 * proxy on the same machine forwards public requests to `PORT`.
 */
function readMetricsAccess(settings: Settings): MetricsAccess {
  const { METRICS_TOKEN, NODE_ENV, HOST } = settings;
  if (METRICS_TOKEN !== undefined) return { kind: 'token', token: METRICS_TOKEN };
  const admin = readAdmin(settings);
  const isOpen = admin ? isLoopback(admin.host) : NODE_ENV !== 'production' && isLoopback(HOST);
  return { kind: isOpen ? 'open' : 'off' };
}

function readKeySetSource(settings: Settings): KeySetSource {
  if (settings.AUTH_JWKS_URL !== undefined) return { kind: 'remote', url: new URL(settings.AUTH_JWKS_URL) };
  if (settings.AUTH_JWKS !== undefined) return { kind: 'local', jwks: settings.AUTH_JWKS };
  return { kind: 'development' };
}
