import { parseArgs } from 'node:util';

/*
 * Stands in for curl where a machine has none, so that the README's lines run there too. It knows the options
 * that those lines use, and refuses others.
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
const written = values['write-out']?.replace('%{http_code}', String(response.status)).replace('\\n', '\n');
if (written !== undefined) process.stdout.write(written);
