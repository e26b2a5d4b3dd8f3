import pg from 'pg';
import { settings } from './settings.ts';

/** For reads and dismissals: DATABASE_POOL_SIZE connections, with pg's default parsers. */
export const pool = new pg.Pool({
  connectionString: settings.DATABASE_URL,
  max: settings.DATABASE_POOL_SIZE,
});
