import pg from 'pg';
import { settings } from './settings.ts';

/** As many connections as the gateway has for changes, with pg's default parsers. */
export const pool = new pg.Pool({
  connectionString: settings.DATABASE_URL,
  max: settings.DATABASE_POOL_SIZE,
});
