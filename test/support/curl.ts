import { parseArgs } from 'node:util';

/*
 * Replaces curl on machines without it, so that the commands of the documentation can be run. Supports the options that
 * those commands use and rejects all others.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: 'boolean', short: 's' },
    request: { type: 'string', short: 'X' },
    header: { type: 'string', short: 'H', multiple: true },
    data: { type: 'string', short: 'd' },
    output: { type: 'string', short: 'o' },
    'write-out': { type: 'string', short: 'w' },
  },
});

const [url = ''] = positionals;
const response = await fetch(url, {
  method: values.request ?? (values.data === undefined ? 'GET' : 'POST'),
  headers: (values.header ?? []).map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  }),
  ...(values.data !== undefined && { body: values.data }),
});
const text = await response.text();
if (values.output !== '/dev/null') process.stdout.write(text);
const format = values['write-out']
  ?.replace('%{http_code}', String(response.status))
  .replaceAll(/%header\{([\w-]+)\}/g, (_match, name: string) => response.headers.get(name) ?? '')
  .replace('\\n', '\n');
if (format !== undefined) process.stdout.write(format);
