import { runProcess } from './run-process.ts';

runProcess({ role: 'gateway', load: async () => (await import('./gateway.ts')).runGateway });
