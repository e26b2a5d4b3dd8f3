import { runProcess } from './server/process.ts';

runProcess({ database: 'shared', load: async () => (await import('./server/worker.ts')).startWorker });
