import type { z } from 'zod';
import { findConflicts, findMissing, findMisspellings, findOmissions } from './config/check-settings.ts';
import { Environment, Settings } from './config/environment.ts';
import { OperatorError } from './errors/failure.ts';

export type { MetricsAccess } from './config/environment.ts';
export type { EncryptionKeys } from './config/formats.ts';

/** The settings of one process. `null` means not configured. */
export type Config = z.output<typeof Settings> & {
  /** Variables that are probably misspelled settings, and settings that are probably missing. */
  warnings: readonly string[];
};

/** The delivery of notifications. A channel without a provider is `null`. */
export type DeliveryConfig = Config['delivery'];

/** The mail server, and the sender of emails. */
export type EmailConfig = NonNullable<DeliveryConfig['email']>;

/** The key and address that identify the gateway to push services, and hosts that may be contacted in any case. */
export type PushConfig = NonNullable<DeliveryConfig['push']>;

/** The API of the chat service. Its URL has no trailing slash. */
export type ChatConfig = NonNullable<DeliveryConfig['chat']>;

/** The names of all settings. */
export const settingNames: readonly string[] = Object.keys(Environment.shape);

/** Lists every invalid setting, then the warnings, one per line, with the variable's name and the fix. */
export class ConfigError extends OperatorError {
  readonly issues: readonly string[];

  constructor(issues: readonly string[], warnings: readonly string[] = []) {
    const lines = [...issues, ...warnings.map((warning) => `Warning: ${warning}`)];
    const heading = `The configuration has ${issues.length} error${issues.length === 1 ? '' : 's'}:`;
    super([heading, ...lines].join('\n  '));
    this.issues = issues;
  }
}

/**
 * Reads the settings from environment variables; empty variables count as unset.
 * @throws {ConfigError} listing every invalid setting
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = Settings.safeParse(given);
  const invalid = parsed.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
  const issues = [...invalid, ...findMissing(given), ...findConflicts(given)];
  const warnings = [...findMisspellings(Object.keys(given), settingNames), ...findOmissions(given)];
  if (!parsed.success || issues.length > 0) throw new ConfigError(issues, warnings);
  return { ...parsed.data, warnings };
}

/** Copies the environment of this process, with some settings replaced. */
export function extendEnvironment(settings: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...settings };
}
