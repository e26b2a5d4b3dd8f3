import { runProcess } from './run-process.ts';

runProcess({ database: 'shared', load: async () => (await import('./delivery-worker.ts')).runWorker });
