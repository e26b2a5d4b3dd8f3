import { resolve } from 'node:path';
import { exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { warnOfNewKey } from '../src/commands/run-command.ts';
import { readSigningKey } from '../src/config/development-keys.ts';
import { webUrl, wholeNumber } from '../src/config/formats.ts';
import { describeFailure, OperatorError } from '../src/errors/failure.ts';
import { ID_CHARACTERS, isId } from '../src/values/text.ts';

const repository = fileURLToPath(new URL('../', import.meta.url));

const Settings = z.object({
  GATEWAY_URL: webUrl.default('http://127.0.0.1:4000'),
  // npm starts Vite in its own folder; the gateway's key is in the folder of the repository.
  DATA_DIR: z
    .string()
    .default('.data')
    .transform((path) => resolve(repository, path)),
  INBOX_USER: z.string().refine(isId, ID_CHARACTERS.message).default('alice'),
  INBOX_TOKEN_SECONDS: wholeNumber(1, 86_400).default(600),
});

/** The settings of the example inbox. INBOX_ORGANIZATION is empty for a user without an organization. */
type InboxSettings = z.output<typeof Settings> & { INBOX_ORGANIZATION: string };

/**
 * Reads the settings of the example inbox, and warns if there was no key in DATA_DIR. Prints what is invalid, a line for
 * each, and exits: Vite would add a stack.
 */
export async function readInboxSettings(): Promise<InboxSettings> {
  try {
    const { INBOX_ORGANIZATION = 'acme', ...others } = process.env;
    const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== ''));
    const { data, error } = Settings.safeParse(given);
    if (error) {
      const lines = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
      throw new OperatorError(lines.join('\n'));
    }
    await readSigningKey(data.DATA_DIR, warnOfNewKey);
    return { ...data, INBOX_ORGANIZATION };
  } catch (error) {
    process.stderr.write(`${describeFailure(error)}\n`);
    exit(1);
  }
}
