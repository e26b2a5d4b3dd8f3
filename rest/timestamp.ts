import { z } from 'zod';

/** A time, as every field writes it. */
export const timestamp = z.iso.datetime().meta({
  id: 'Timestamp',
  description: 'RFC 3339, in UTC with milliseconds: `2026-05-04T09:12:31.000Z`.',
});
