import { listStartLines } from './process/start-lines.ts';
import { startServer } from './server.ts';
import { runService } from './service.ts';

runService({
  role: 'gateway',
  async start(config, database, log) {
    const gateway = await startServer(config, database, log);
    return { ...gateway, startLines: listStartLines(config, gateway) };
  },
});
