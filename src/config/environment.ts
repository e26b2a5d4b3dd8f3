import { z } from 'zod';
import { allowedHosts, appUrl, mailbox, smtpUrl, vapidKey, vapidSubject } from './delivery-formats.ts';
import { address, bearerToken, encryptionKeys, jwks, origins, wholeNumber, yesOrNo } from './formats.ts';
import { LOOPBACK } from './hosts.ts';

/** Points per minute and user; 0 means unlimited. */
export const defaultLimits = { reads: 600, writes: 120, platform: 0 };

/** The settings by environment variable, with formats and defaults. */
export const Environment = z.object({
  // A misspelled "production" must not enable the development defaults.
  NODE_ENV: z
    .enum(['production', 'development', 'test'], 'must be production, development or test')
    .optional(),
  HOST: z.string().default(LOOPBACK),
  PORT: wholeNumber(0, 65_535).default(4000),
  REUSE_PORT: yesOrNo('false'),
  ADMIN_HOST: z.string().default(LOOPBACK),
  ADMIN_PORT: wholeNumber(0, 65_535).optional(),
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
  RATE_LIMIT_READS_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(defaultLimits.reads),
  RATE_LIMIT_WRITES_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(defaultLimits.writes),
  RATE_LIMIT_PLATFORM_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(defaultLimits.platform),
  REDIS_URL: address('redis:', 'rediss:').optional(),
  CORS_ORIGINS: origins.default([]),
  MAX_SUBSCRIBERS: wholeNumber(1, 1_000_000).default(10_000),
  LIVE_SWEEP_MS: wholeNumber(100, 600_000).default(5000),
  NOTIFICATION_RETENTION_DAYS: wholeNumber(0, 36_500).default(90),
  SMTP_URL: smtpUrl.optional(),
  SMTP_FROM: mailbox.optional(),
  VAPID_PRIVATE_KEY: vapidKey.optional(),
  VAPID_SUBJECT: vapidSubject.optional(),
  PUSH_ALLOWED_HOSTS: allowedHosts.default([]),
  CHAT_TOKEN: bearerToken(1).optional(),
  CHAT_API_URL: address('http:', 'https:')
    .transform((url) => url.replace(/\/+$/, ''))
    .default('https://slack.com/api'),
  APP_URL: appUrl.optional(),
  DELIVERY: yesOrNo('true'),
  DELIVERY_EMAIL_DELAY_SECONDS: wholeNumber(0, 3600).default(60),
  GRAPHIQL: yesOrNo('true'),
  METRICS_TOKEN: bearerToken(16, ' (openssl rand -hex 32)').optional(),
  SHUTDOWN_DELAY_MS: wholeNumber(0, 300_000).default(0),
  SHUTDOWN_GRACE_MS: wholeNumber(0, 300_000).default(10_000),
  LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info'),
});
