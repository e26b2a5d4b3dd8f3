import { z } from 'zod';

const Keys = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** What a peer is told: the gateway's own settings. */
export const settings = z
  .object({
    DATABASE_URL: z.string(),
    DATABASE_POOL_SIZE: z.coerce.number(),
    AUTH_JWKS: z.string().transform((text) => Keys.parse(JSON.parse(text))),
    AUTH_ISSUER: z.string(),
    AUTH_AUDIENCE: z.string(),
  })
  .parse(process.env);
