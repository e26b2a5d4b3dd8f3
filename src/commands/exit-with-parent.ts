/*
 * Preloaded into the gateway of `npm run dev`. If that command is killed, its end of the pipe closes; this module then
 * stops the watcher, which stops the gateway.
 */
process.stdin.on('end', () => process.kill(process.ppid)).resume();
process.stdin.unref();
