import { createSecretKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';

const Keys = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** The only key of the bench, in the format `id:base64`. */
const Key = z.templateLiteral([z.string(), ':', z.string()]).transform((text): Map<string, KeyObject> => {
  const [id = '', base64 = ''] = text.split(':');
  return new Map([[id, createSecretKey(base64, 'base64')]]);
});

/** The settings of a peer, in the format of the gateway's. */
export const settings = z
  .object({
    DATABASE_URL: z.string(),
    DATABASE_POOL_SIZE: z.coerce.number(),
    AUTH_JWKS: z.string().transform((text) => Keys.parse(JSON.parse(text))),
    AUTH_ISSUER: z.string(),
    AUTH_AUDIENCE: z.string(),
    ENCRYPTION_KEYS: Key,
  })
  .parse(process.env);
