import { runCommand } from './commands/run-command.ts';
import { runProcess } from './server/process.ts';

runCommand('npm run worker, with settings as environment variables (docs/configuration.md)', {}, () =>
  runProcess({ database: 'shared', load: async () => (await import('./server/worker.ts')).startWorker }),
);
