import { z } from 'zod';

/** A timestamp, as every field returns it. */
export const timestamp = z.iso.datetime().meta({
  id: 'Timestamp',
  description: 'An RFC 3339 timestamp in UTC with milliseconds: `2026-01-31T09:30:00.000Z`.',
});
