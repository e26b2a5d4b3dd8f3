import { listStartLines } from '../process/start-lines.ts';
import { defineService } from './define-service.ts';
import { startGateway } from './gateway.ts';

/** Serves the APIs, and sends deliveries unless `DELIVERY` is `false`. */
export const runGateway = defineService(async (config, database, log) => {
  const gateway = await startGateway(config, database, log);
  return { ...gateway, startLines: listStartLines(config, gateway) };
});
