import { runCommand } from './commands/run-command.ts';
import { runProcess } from './server/process.ts';

runCommand('npm start, with settings as environment variables (docs/configuration.md)', {}, () =>
  runProcess({ database: 'own', load: async () => (await import('./server/gateway.ts')).startGateway }),
);
