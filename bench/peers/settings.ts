import { createSecretKey } from 'node:crypto';
import pg from 'pg';
import { z } from 'zod';

const Keys = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** The settings of a peer, in the format of the gateway's. */
export const settings = z
  .object({
    DATABASE_URL: z.string(),
    DATABASE_POOL_SIZE: z.coerce.number(),
    AUTH_JWKS: z.string().transform((text) => Keys.parse(JSON.parse(text))),
    AUTH_ISSUER: z.string(),
    AUTH_AUDIENCE: z.string(),
    /** One key, as `id:base64`. */
    ENCRYPTION_KEYS: z.string().transform((text) => {
      const [id = '', base64 = ''] = text.split(':');
      return new Map([[id, createSecretKey(base64, 'base64')]]);
    }),
  })
  .parse(process.env);

/** As many connections as the gateway, with pg's default parsers. */
export const pool = new pg.Pool({
  connectionString: settings.DATABASE_URL,
  max: settings.DATABASE_POOL_SIZE,
});
