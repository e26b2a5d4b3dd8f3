import { type Config, readConfig } from '../config.ts';

/** What a started gateway prints. */
export function listStartLines(
  config: Config,
  gateway: { address: string; adminAddress: string | undefined },
) {
  const { address, adminAddress } = gateway;
  const lines = [`Listening on ${address}`];
  if (adminAddress !== undefined) lines.push(`Admin     ${adminAddress}`);
  if (config.production) return lines;
  const publicUrl = config.publicUrl ?? address;
  if (config.graphiql) lines.push(`GraphiQL  ${publicUrl}/graphql`);
  lines.push(`REST      ${publicUrl}/docs`);
  if (config.keySet.kind === 'development') {
    const inForce = { ...config, port: Number(new URL(address).port || 80) };
    lines.push(`A token   ${formatSettings(inForce, token)}npm run -s token -- --sub alice --org acme`);
    lines.push(`Records   ${formatSettings(inForce, seed)}npm run -s seed -- --user alice`);
  }
  return lines;
}

/** The settings that a command reads, by the variables that it needs to be given. */
const key = { DATA_DIR: 'dataDir', AUTH_ISSUER: 'issuer', AUTH_AUDIENCE: 'audience' } as const;
const token = { ...key, AUTH_ORG_CLAIM: 'orgClaim' } as const;
const seed = { ...key, HOST: 'host', PORT: 'port' } as const;

/** Assignments of the settings in force that are not the defaults, as a shell reads them before a command. */
function formatSettings(config: Config, names: typeof token | typeof seed): string {
  const defaults = readConfig({});
  return Object.entries(names)
    .filter(([, name]) => config[name] !== defaults[name])
    .map(([variable, name]) => `${variable}=${quote(String(config[name]))} `)
    .join('');
}

function quote(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
