import { listStartLines } from './process/start-lines.ts';
import { runService } from './run-service.ts';
import { startServer } from './server.ts';

runService({
  role: 'gateway',
  async start(config, database, log) {
    const gateway = await startServer(config, database, log);
    return { ...gateway, startLines: listStartLines(config, gateway) };
  },
});
