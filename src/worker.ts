import { runProcess } from './run-process.ts';

runProcess({ database: 'shared', load: async () => (await import('./run-worker.ts')).runWorker });
