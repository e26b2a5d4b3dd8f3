import pg from 'pg';
import { settings } from './settings.ts';

/** As many connections as the gateway has for changes. Values come as pg makes them by default: times as `Date`, JSON parsed. */
export const pool = new pg.Pool({
  connectionString: settings.DATABASE_URL,
  max: settings.DATABASE_POOL_SIZE,
});
