import { runProcess } from './server/process.ts';

runProcess({ database: 'own', load: async () => (await import('./server/gateway.ts')).startGateway });
