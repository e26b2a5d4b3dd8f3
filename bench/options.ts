import { parseArgs } from 'node:util';
import { isPiece, type Piece, pieces } from './without/pieces.ts';

/** The options of the command line. */
export type Options = {
  /** The number of measured runs of every contender. */
  rounds: number;
  /** The number of runs before those that are measured, to compile code and fill caches. */
  warmUps: number;
  /** The length of a timed run. */
  seconds: number;
  isQuick: boolean;
  /** The names of workloads and parts to run; all if empty. */
  only: readonly string[];
  /** The pieces without which the gateway is measured too. */
  without: readonly Piece[];
  /** The folder for CPU profiles of the gateway. */
  profile: string | undefined;
};

const USAGE = `[--quick] [--only <name>]... [--without <piece>]... [--rounds <n>] [--seconds <n>] [--profile <folder>]`;

/** The time in which Node.js optimizes the gateway. A list then takes two thirds of the CPU time of the first seconds. */
const WARM_UP_SECONDS = 12;

/** The defaults of `--rounds` and `--seconds`. */
type Defaults = Pick<Options, 'rounds' | 'seconds'>;

/**
 * Reads the command line. `names` are the values that `--only` accepts.
 * @throws {Error} with the invalid option and the allowed values
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
    if (!names.includes(name))
      throw new Error(`--only ${name}: must be one of ${names.join(', ')}.\n${USAGE}`);
  }
  const without = values.without.map((name) => {
    if (isPiece(name)) return name;
    throw new Error(`--without ${name}: must be one of ${Object.keys(pieces).join(', ')}.\n${USAGE}`);
  });
  const seconds = wholeNumber('--seconds', values.seconds) ?? defaults.seconds;
  return {
    isQuick,
    rounds: wholeNumber('--rounds', values.rounds) ?? defaults.rounds,
    warmUps: isQuick ? 1 : Math.ceil(WARM_UP_SECONDS / seconds),
    seconds,
    only: values.only,
    without,
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
        without: { type: 'string', multiple: true, default: [] },
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
