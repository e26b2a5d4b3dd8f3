import { type Config, readConfig } from '../config.ts';
import { addPageKey } from '../pages/graphiql-token.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import type { Secret } from '../values/secret.ts';
import { version } from '../version.ts';

/** The addresses of a gateway, and the key with which its GraphiQL page gets a token. */
type Started = { address: string; adminAddress: string | undefined; pageKey: Secret | undefined };

/** Lists the lines that a gateway prints when it has started. */
export function listStartLines(config: Config, { address, adminAddress, pageKey }: Started): string[] {
  const lines = [`Listening on ${address}`, `Version   ${version}`];
  if (adminAddress !== undefined) lines.push(`Admin     ${adminAddress}`);
  lines.push(...listDeliveryLines(config));
  if (config.production) return lines;
  const publicUrl = config.publicUrl ?? address;
  const page = `${publicUrl}/graphql`;
  if (config.graphiql) lines.push(`GraphiQL  ${pageKey === undefined ? page : addPageKey(page, pageKey)}`);
  lines.push(`REST      ${publicUrl}/docs`);
  if (config.keySet.kind === 'development') {
    const effective = { ...config, port: Number(new URL(address).port || 80) };
    const settings = formatSettings(effective, tokenSettings);
    lines.push(`A token   ${settings}npm run -s token -- --sub alice --org acme`);
    lines.push(`Records   ${formatSettings(effective, seedSettings)}npm run -s seed -- --user alice`);
  }
  return lines;
}

/** Lists the line that names the channels over which a process sends; none if it does not send. */
export function listDeliveryLines({ delivery }: Config): string[] {
  const channels = deliveryChannels.filter((channel) => delivery[channel] !== null);
  return delivery.sends && channels.length > 0 ? [`Delivers  ${channels.join(', ')}`] : [];
}

/** The settings that `npm run token` and `npm run seed` read, by environment variable. */
const keySettings = { DATA_DIR: 'dataDir', AUTH_ISSUER: 'issuer', AUTH_AUDIENCE: 'audience' } as const;
const tokenSettings = { ...keySettings, AUTH_ORG_CLAIM: 'orgClaim' } as const;
const seedSettings = { ...keySettings, HOST: 'host', PORT: 'port' } as const;

/** Formats the settings that differ from their defaults as shell assignments before a command. */
function formatSettings(config: Config, names: typeof tokenSettings | typeof seedSettings): string {
  const defaults = readConfig({});
  return Object.entries(names)
    .filter(([, name]) => config[name] !== defaults[name])
    .map(([variable, name]) => `${variable}=${quote(String(config[name]))} `)
    .join('');
}

function quote(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
