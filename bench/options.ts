import type { parseArgs } from 'node:util';
import { UsageError } from '../src/commands/run-command.ts';

/** The options of the command line. */
export type Options = ReturnType<typeof readOptions>;

export const USAGE =
  'npm run bench -- [--only <name>]... [--against <folder>] [--rounds <n>] [--warm-up <n>] [--record] [--quick]';

/** The options of the command line, as `parseArgs` takes them. */
export const accepted = {
  only: { type: 'string', multiple: true },
  against: { type: 'string' },
  rounds: { type: 'string', default: '12' },
  'warm-up': { type: 'string', default: '25000' },
  record: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
} as const;

type Given = ReturnType<typeof parseArgs<{ options: typeof accepted }>>['values'];

/**
 * Checks the options of the command line. `names` are the values that `--only` accepts. `--against` names a checkout of
 * the gateway, with its dependencies. `--quick` only shows that everything works.
 * @throws {UsageError} with the invalid option and the allowed values
 */
export function readOptions(values: Given, names: readonly string[]) {
  const { only = [], against, record: isRecorded, quick: isQuick } = values;
  const [rounds, warmUp] = [Number(values.rounds), Number(values['warm-up'])];
  const unknown = only.find((name) => !names.includes(name));
  const fail = (problem: string) => {
    throw new UsageError(problem);
  };
  if (unknown !== undefined) fail(`--only ${unknown}: must be one of ${names.join(', ')}.`);
  if (!(rounds > 0 && warmUp >= 0)) fail('--rounds and --warm-up must be numbers.');
  if (isRecorded && (isQuick || rounds < 6)) fail('--record requires at least six rounds.');
  return { only, against, isRecorded, isQuick, rounds: isQuick ? 1 : rounds, warmUp: isQuick ? 0 : warmUp };
}
