import { listStartLines } from './process/start-lines.ts';
import { createService } from './run-service.ts';
import { startServer } from './server.ts';

/** Serves the APIs, and sends deliveries unless `DELIVERY` is `false`. */
export const runGateway = createService(async (config, database, log) => {
  const gateway = await startServer(config, database, log);
  return { ...gateway, startLines: listStartLines(config, gateway) };
});
