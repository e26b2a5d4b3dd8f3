import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import type { Secret } from '../values/secret.ts';
import { allowedHosts, appUrl, mailbox, smtpUrl, vapidKey, vapidSubject } from './delivery-formats.ts';
import {
  bearerToken,
  connectionUrl,
  encryptionKeys,
  isLoopback,
  jwks,
  origins,
  trueOrFalse,
  webUrl,
  wholeNumber,
  words,
  yesOrNo,
} from './formats.ts';

/** The default of HOST and ADMIN_HOST. */
export const LOOPBACK = '127.0.0.1';

/** The default of PORT. */
export const DEFAULT_PORT = 4000;

/** Points per minute and caller; 0 means unlimited. */
export const defaultLimits = { reads: 600, writes: 120, platform: 0, tasks: 30 };

/** Whether a scope, without its prefix, has a name of the gateway's scopes, including those of other versions. */
export function isGatewayScope(scope: string): boolean {
  return /^(account|platform):/.test(scope);
}

/** The settings by environment variable, with formats and defaults. */
export const Environment = z.object({
  // A misspelled "production" must not enable the development defaults.
  NODE_ENV: z
    .enum(['production', 'development', 'test'], 'must be production, development or test')
    .optional(),
  HOST: z.string().default(LOOPBACK),
  PORT: wholeNumber(0, 65_535).default(DEFAULT_PORT),
  /** Whether other processes may listen on the same port. */
  REUSE_PORT: yesOrNo('false'),
  ADMIN_HOST: z.string().default(LOOPBACK),
  /** The port of the admin server, which no other process shares. */
  ADMIN_PORT: wholeNumber(0, 65_535).optional(),
  PUBLIC_URL: webUrl
    .refine((url) => !/[?#]/.test(url), 'must have neither a query nor a fragment')
    .transform(trimSlashes)
    .optional(),
  DATABASE_URL: connectionUrl('postgres:', 'postgresql:').optional(),
  DATA_DIR: z.string().default('.data'),
  DATABASE_POOL_SIZE: wholeNumber(1, 1000).default(10),
  DATABASE_TIMEOUT_MS: wholeNumber(100, 600_000).default(5000),
  AUTH_JWKS_URL: webUrl.optional(),
  /** Age at which a key set that cannot be fetched again is no longer used. */
  AUTH_JWKS_MAX_STALE_SECONDS: wholeNumber(60, 31_536_000).default(86_400),
  AUTH_JWKS: jwks.optional(),
  AUTH_ISSUER: z.string().optional(),
  AUTH_AUDIENCE: z.string().optional(),
  AUTH_ORG_CLAIM: z.string().default('org_id'),
  /** The claims that name the scopes of a token. */
  AUTH_SCOPE_CLAIMS: words('names of claims separated by spaces: scope scp').default(['scope', 'scp']),
  /** What the issuer puts before the names of scopes. */
  AUTH_SCOPE_PREFIX: z
    .string()
    .regex(/^[!#-[\]-~]+$/, 'must be the start of scopes, without spaces and quotation marks: gateway/')
    .default(''),
  /** The scopes with which users sign in. They say nothing about the gateway. */
  AUTH_SIGN_IN_SCOPES: words('scopes separated by spaces: openid profile')
    .refine(
      (scopes) => !scopes.some(isGatewayScope),
      'must not contain scopes of the gateway, because tokens with sign-in scopes only have full access to the account',
    )
    .default(['openid', 'profile', 'email', 'address', 'phone', 'offline_access']),
  /** Whether tokens without scopes, or with sign-in scopes only, have no access. */
  AUTH_REQUIRE_SCOPES: yesOrNo('false'),
  /** The claims of task tokens with the IDs of their user and task. */
  AUTH_TASK_USER_CLAIM: z.string().optional(),
  AUTH_TASK_CLAIM: z.string().optional(),
  /** The claim of task tokens with the ID of the task's project. */
  AUTH_PROJECT_CLAIM: z.string().optional(),
  ENCRYPTION_KEYS: encryptionKeys.optional(),
  RATE_LIMIT_READS_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(defaultLimits.reads),
  RATE_LIMIT_WRITES_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(defaultLimits.writes),
  RATE_LIMIT_PLATFORM_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(defaultLimits.platform),
  RATE_LIMIT_TASKS_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(defaultLimits.tasks),
  REDIS_URL: connectionUrl('redis:', 'rediss:').optional(),
  /** Allowed origins, exactly as browsers send them. */
  CORS_ORIGINS: origins.default([]),
  /** Maximum number of live subscribers of this process. */
  MAX_SUBSCRIBERS: wholeNumber(1, 1_000_000).default(10_000),
  /** Milliseconds between two checks for changes that were not announced. */
  LIVE_SWEEP_MS: wholeNumber(100, 600_000).default(5000),
  /** Days that resolved and dismissed notifications are kept; 0 means forever. */
  NOTIFICATION_RETENTION_DAYS: wholeNumber(0, 36_500).default(90),
  SMTP_URL: smtpUrl.optional(),
  SMTP_FROM: mailbox.optional(),
  VAPID_PRIVATE_KEY: vapidKey.optional(),
  /** The operator's address for push services (RFC 8292, section 2.1). */
  VAPID_SUBJECT: vapidSubject.optional(),
  PUSH_ALLOWED_HOSTS: allowedHosts.default([]),
  CHAT_TOKEN: bearerToken(1).optional(),
  /** Verifies that interactions come from Slack. */
  CHAT_SIGNING_SECRET: bearerToken(16).optional(),
  CHAT_API_URL: webUrl.transform(trimSlashes).default('https://slack.com/api'),
  /** For which requests mails link to a page that answers them without a sign-in. */
  ANSWER_LINKS: z.enum(['off', 'questions', 'all'], 'must be off, questions or all').default('off'),
  /** The URL of a notification in the web app, with `{id}` in place of its ID. */
  APP_URL: appUrl.optional(),
  /** Whether this process sends. Deliveries to configured channels are queued in any case. */
  DELIVERY: yesOrNo('true'),
  /** The delay before an email is sent, because the user may dismiss the notification first. */
  DELIVERY_EMAIL_DELAY_SECONDS: wholeNumber(0, 3600).default(60),
  /** Defaults to `false` in production. */
  GRAPHIQL: trueOrFalse.optional(),
  METRICS_TOKEN: bearerToken(16, ' (openssl rand -hex 32)').optional(),
  /** Milliseconds that a gateway must be ready before await-ready exits. */
  READY_DELAY_MS: wholeNumber(0, 300_000).default(0),
  /** Milliseconds from the moment when readiness checks start to fail until the port is closed. */
  SHUTDOWN_DELAY_MS: wholeNumber(0, 300_000).default(0),
  /** Milliseconds that running requests have to finish after the port is closed. */
  SHUTDOWN_GRACE_MS: wholeNumber(0, 300_000).default(10_000),
  LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info'),
});

type Variables = z.output<typeof Environment>;

/** The settings of one process, grouped by use. `null` means not configured. */
export const Settings = Environment.transform((variables) => ({
  production: variables.NODE_ENV === 'production',
  host: variables.HOST,
  port: variables.PORT,
  reusePort: variables.REUSE_PORT,
  admin: readAdmin(variables),
  publicUrl: variables.PUBLIC_URL ?? null,
  databaseUrl: variables.DATABASE_URL ?? null,
  dataDir: variables.DATA_DIR,
  databasePoolSize: variables.DATABASE_POOL_SIZE,
  databaseTimeoutMs: variables.DATABASE_TIMEOUT_MS,
  keySet: readKeySetSource(variables),
  keySetMaxStaleSeconds: variables.AUTH_JWKS_MAX_STALE_SECONDS,
  issuer: variables.AUTH_ISSUER ?? null,
  audience: variables.AUTH_AUDIENCE ?? null,
  orgClaim: variables.AUTH_ORG_CLAIM,
  scopes: {
    claims: variables.AUTH_SCOPE_CLAIMS,
    prefix: variables.AUTH_SCOPE_PREFIX,
    signIn: variables.AUTH_SIGN_IN_SCOPES,
    required: variables.AUTH_REQUIRE_SCOPES,
  },
  taskClaims: readTaskClaims(variables),
  encryptionKeys: variables.ENCRYPTION_KEYS ?? null,
  limits: {
    reads: variables.RATE_LIMIT_READS_PER_MINUTE,
    writes: variables.RATE_LIMIT_WRITES_PER_MINUTE,
    platform: variables.RATE_LIMIT_PLATFORM_PER_MINUTE,
    tasks: variables.RATE_LIMIT_TASKS_PER_MINUTE,
  },
  redisUrl: variables.REDIS_URL ?? null,
  corsOrigins: variables.CORS_ORIGINS,
  maxSubscribers: variables.MAX_SUBSCRIBERS,
  liveSweepMs: variables.LIVE_SWEEP_MS,
  notificationRetentionDays: variables.NOTIFICATION_RETENTION_DAYS,
  delivery: readDelivery(variables),
  graphiql: variables.GRAPHIQL ?? variables.NODE_ENV !== 'production',
  metrics: readMetricsAccess(variables),
  readyDelayMs: variables.READY_DELAY_MS,
  shutdownDelayMs: variables.SHUTDOWN_DELAY_MS,
  shutdownGraceMs: variables.SHUTDOWN_GRACE_MS,
  logLevel: variables.LOG_LEVEL,
}));

function trimSlashes(url: string): string {
  return url.replace(/\/+$/, '');
}

function readAdmin({ ADMIN_HOST, ADMIN_PORT }: Variables) {
  return ADMIN_PORT === undefined ? null : { host: ADMIN_HOST, port: ADMIN_PORT };
}

/** Without both claims, task tokens are rejected, but for those that are signed with the development key. */
function readTaskClaims(variables: Variables) {
  const { AUTH_TASK_USER_CLAIM: user, AUTH_TASK_CLAIM: task, AUTH_PROJECT_CLAIM: project } = variables;
  if (user !== undefined && task !== undefined) return { user, task, project };
  return readKeySetSource(variables).kind === 'development'
    ? { user: 'task_user_id', task: 'task_id', project }
    : null;
}

/** The source of the public keys. `development` is a key generated in `DATA_DIR`. */
type KeySetSource =
  | { kind: 'remote'; url: URL }
  | { kind: 'local'; jwks: JSONWebKeySet }
  | { kind: 'development' };

function readKeySetSource({ AUTH_JWKS_URL, AUTH_JWKS }: Variables): KeySetSource {
  if (AUTH_JWKS_URL !== undefined) return { kind: 'remote', url: new URL(AUTH_JWKS_URL) };
  return AUTH_JWKS === undefined ? { kind: 'development' } : { kind: 'local', jwks: AUTH_JWKS };
}

/** A channel without a provider is `null`. */
function readDelivery(variables: Variables) {
  const { SMTP_URL, SMTP_FROM, VAPID_PRIVATE_KEY, VAPID_SUBJECT, CHAT_TOKEN } = variables;
  const { CHAT_API_URL: apiUrl, CHAT_SIGNING_SECRET: signingSecret = null } = variables;
  const delaySeconds = variables.DELIVERY_EMAIL_DELAY_SECONDS;
  const allowedHosts = variables.PUSH_ALLOWED_HOSTS;
  return {
    sends: variables.DELIVERY,
    email: SMTP_URL && SMTP_FROM ? { url: SMTP_URL, from: SMTP_FROM, delaySeconds } : null,
    push:
      VAPID_PRIVATE_KEY && VAPID_SUBJECT
        ? { privateKey: VAPID_PRIVATE_KEY, subject: VAPID_SUBJECT, allowedHosts }
        : null,
    chat: CHAT_TOKEN ? { token: CHAT_TOKEN, apiUrl, signingSecret } : null,
    answerLinks: variables.ANSWER_LINKS,
    appUrl: variables.APP_URL ?? null,
  };
}

/** Access to the metrics: open, with a token, or off. */
export type MetricsAccess = { kind: 'open' } | { kind: 'token'; token: Secret } | { kind: 'off' };

/**
 * Without a token, metrics are served only on a loopback address. In production that must be the admin port, because a
 * proxy on the same machine forwards public requests to `PORT`.
 */
function readMetricsAccess(variables: Variables): MetricsAccess {
  const { METRICS_TOKEN, NODE_ENV, HOST } = variables;
  if (METRICS_TOKEN !== undefined) return { kind: 'token', token: METRICS_TOKEN };
  const admin = readAdmin(variables);
  const isOpen = admin ? isLoopback(admin.host) : NODE_ENV !== 'production' && isLoopback(HOST);
  return { kind: isOpen ? 'open' : 'off' };
}
