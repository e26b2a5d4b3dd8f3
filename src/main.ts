import { runProcess } from './startup/run-process.ts';

runProcess({ database: 'own', load: async () => (await import('./startup/run-gateway.ts')).runGateway });
