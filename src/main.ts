import { runProcess } from './run-process.ts';

runProcess({ database: 'own', load: async () => (await import('./run-gateway.ts')).runGateway });
