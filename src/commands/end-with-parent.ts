/*
 * Loaded into the gateway of `npm run dev`: where that command is killed, its end of the pipe is closed, and the
 * watcher is told to stop, which stops the gateway.
 */
process.stdin.on('end', () => process.kill(process.ppid)).resume();
process.stdin.unref();
