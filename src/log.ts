import { type Logger, pino } from 'pino';

/** JSON lines on standard output. */
export type Log = Logger;

/** The log of the process; `level` is one of pino's. */
export function createLog(level: string): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime });
}
