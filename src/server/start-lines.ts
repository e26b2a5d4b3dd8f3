import { type Config, readConfig } from '../config.ts';
import { addPageKey } from '../pages/graphiql-token.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import type { Secret } from '../values/secret.ts';
import { version } from '../version.ts';

/** The addresses of a gateway, and the key with which its pages get a token. */
type Started = { address: string; adminAddress: string | undefined; pageKey: Secret | undefined };

/** Lists the lines that a gateway prints when it has started. */
export function listStartLines(config: Config, { address, adminAddress, pageKey }: Started): string[] {
  const lines = [`Listening on ${address}`, `Version   ${version}`];
  if (adminAddress !== undefined) lines.push(`Admin     ${adminAddress}`);
  lines.push(describeScopes(config), ...listDeliveryLines(config));
  if (config.production) return lines;
  const publicUrl = config.publicUrl ?? address;
  const toUrl = (path: string) =>
    pageKey === undefined ? publicUrl + path : addPageKey(publicUrl + path, pageKey);
  if (config.graphiql) lines.push(`GraphiQL  ${toUrl('/graphql')}`);
  lines.push(`REST      ${toUrl('/docs')}`);
  if (config.keySet.kind === 'development') {
    const effective = { ...config, port: Number(new URL(address).port || 80) };
    const settings = formatSettings(effective, tokenSettings);
    const scope = config.scopes.required ? ' --scope account:write' : '';
    lines.push(`A token   ${settings}npm run -s token -- --sub alice --org acme${scope}`);
    lines.push(`Records   ${formatSettings(effective, seedSettings)}npm run -s seed -- --user alice`);
  }
  return lines;
}

/** Describes where scopes are read, and what a token without any allows. */
function describeScopes({ scopes: { claims, prefix, required } }: Config): string {
  const removed = prefix === '' ? '' : ` without ${prefix}`;
  const access = required ? 'no access' : "its user's account";
  return `Scopes    ${claims.join(', ')}${removed}; a token without them, or with sign-in scopes only, has ${access}`;
}

/** Lists the line that names the channels over which a process sends; none if it does not send. */
export function listDeliveryLines({ delivery }: Config): string[] {
  const channels = deliveryChannels.filter((channel) => delivery[channel] !== null);
  return delivery.sends && channels.length > 0 ? [`Delivers  ${channels.join(', ')}`] : [];
}

/** The settings that `npm run token` and `npm run seed` read, by environment variable. */
type Settings = Readonly<Record<string, (config: Config) => string | number | null>>;
const keySettings: Settings = {
  DATA_DIR: ({ dataDir }) => dataDir,
  AUTH_ISSUER: ({ issuer }) => issuer,
  AUTH_AUDIENCE: ({ audience }) => audience,
  AUTH_SCOPE_CLAIMS: ({ scopes }) => scopes.claims.join(' '),
  AUTH_SCOPE_PREFIX: ({ scopes }) => scopes.prefix,
};
const tokenSettings: Settings = {
  ...keySettings,
  AUTH_ORG_CLAIM: ({ orgClaim }) => orgClaim,
  AUTH_TASK_USER_CLAIM: ({ taskClaims }) => taskClaims?.user ?? null,
  AUTH_TASK_CLAIM: ({ taskClaims }) => taskClaims?.task ?? null,
};
const seedSettings: Settings = { ...keySettings, HOST: ({ host }) => host, PORT: ({ port }) => port };

/** Formats the settings that differ from their defaults as shell assignments before a command. */
function formatSettings(config: Config, settings: Settings): string {
  const defaults = readConfig({});
  return Object.entries(settings)
    .filter(([, read]) => read(config) !== read(defaults))
    .map(([variable, read]) => `${variable}=${quote(String(read(config)))} `)
    .join('');
}

function quote(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
