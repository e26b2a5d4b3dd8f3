import { runProcess } from './startup/run-process.ts';

runProcess({ database: 'shared', load: async () => (await import('./startup/run-worker.ts')).runWorker });
