import { setTimeout as pause } from 'node:timers/promises';
import { readConfig } from '../config.ts';
import { OperatorError, readSystemErrorCode } from '../errors/failure.ts';
import { formatGatewayAddress, runCommand, UsageError } from './run-command.ts';

const POLL_MS = 100;
const REQUEST_TIMEOUT_MS = 5000;

const options = { pid: { type: 'string' }, seconds: { type: 'string', default: '60' } } as const;

/**
 * Waits until the gateway with these settings has been ready for `READY_DELAY_MS`, so that proxies have noticed it. A
 * rolling restart runs it before it restarts the next process.
 */
runCommand('node src/commands/await-ready.ts [--pid PID] [--seconds 60]', { options }, async ({ values }) => {
  const { pid, seconds } = values;
  if (!/^[1-9]\d{0,4}$/.test(seconds))
    throw new UsageError('--seconds must be a whole number from 1 to 99999.');
  if (pid !== undefined && !/^[1-9]\d*$/.test(pid)) throw new UsageError('--pid must be a process ID.');
  const config = readConfig();
  if (config.reusePort && config.admin === null) {
    throw new OperatorError(
      'With REUSE_PORT=true, any process may receive the readiness check. Set ADMIN_PORT for each process.',
    );
  }
  const url = `${formatGatewayAddress(config.admin ?? config)}/readyz`;
  const deadline = Date.now() + Number(seconds) * 1000;
  let readySince: number | undefined;
  for (;;) {
    const state = await readState(url);
    const now = Date.now();
    if (pid !== undefined && !isAlive(Number(pid))) {
      throw new OperatorError(`The gateway (process ${pid}) ended before it was ready.`);
    }
    if (state !== undefined && now > deadline) {
      throw new OperatorError(`Not ready after ${seconds} s: ${url}: ${state}`);
    }
    readySince = state === undefined ? (readySince ?? now) : undefined;
    if (readySince !== undefined && now - readySince >= config.readyDelayMs) return;
    await pause(POLL_MS);
  }
});

/** Returns why the gateway is not ready; undefined if it is. */
async function readState(url: string): Promise<string | undefined> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    const text = await reply.text();
    return reply.ok ? undefined : text;
  } catch {
    return 'no reply';
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return readSystemErrorCode(error) === 'EPERM';
  }
}
