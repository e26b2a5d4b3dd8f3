import { updateStatistics } from './statistics.ts';

/* Updates the statistics of the database with the given URL, for the commands of the documentation. */
await updateStatistics({ url: process.argv[2] ?? '' });
