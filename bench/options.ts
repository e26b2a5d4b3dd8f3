import { parseArgs } from 'node:util';

/** What the command line asks for. */
export type Options = {
  /** How often every contender of a work runs. */
  rounds: number;
  /** Runs before those that count: code gets compiled, connections and caches are filled. */
  warmUps: number;
  /** How long a run lasts that lasts for a time. */
  seconds: number;
  isQuick: boolean;
  /** Works and parts to run; all where it is empty. */
  only: readonly string[];
  /** Where Node.js writes a profile of the gateway's processor time. */
  profile: string | undefined;
};

const USAGE = `[--quick] [--only <name>]... [--rounds <n>] [--seconds <n>] [--profile <folder>]`;

/** The rounds and seconds of a run where the command line does not give them. */
type Defaults = Pick<Options, 'rounds' | 'seconds'>;

/**
 * Reads the command line; `names` are what `--only` takes.
 * @throws {Error} that names what was wrong, and what is allowed
 */
export function readOptions(
  args: readonly string[],
  names: readonly string[],
  { usual, quick }: Record<'usual' | 'quick', Defaults>,
): Options {
  const { values } = parse(args);
  const isQuick = values.quick;
  const defaults = isQuick ? quick : usual;
  for (const name of values.only) {
    if (!names.includes(name)) throw new Error(`--only ${name}: there is ${names.join(', ')}.\n${USAGE}`);
  }
  return {
    isQuick,
    rounds: wholeNumber('--rounds', values.rounds) ?? defaults.rounds,
    warmUps: isQuick ? 1 : 2,
    seconds: wholeNumber('--seconds', values.seconds) ?? defaults.seconds,
    only: values.only,
    profile: values.profile,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        profile: { type: 'string' },
      },
    });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  }
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new Error(`${name} ${text}: must be a whole number from 1 to 9999.\n${USAGE}`);
  return Number(text);
}
