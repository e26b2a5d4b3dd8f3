import { runProcess } from './run-process.ts';

runProcess({ role: 'command', load: async () => (await import('./delivery-worker.ts')).runWorker });
