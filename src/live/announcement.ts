import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { type Change, topics } from './hub.ts';

/** The PostgreSQL channel on which gateways announce changes. */
export const CHANNEL = 'account_changes';

/** PostgreSQL rejects payloads of 8,000 bytes and more. */
const MAX_PAYLOAD_BYTES = 7900;

/**
 * A message from a gateway to all gateways, itself included: the sender, a number that increases with every
 * announcement, and changes.
 */
export type Announcement = { from: string; number: number; changes: Change[] };

const Payload = z.object({
  from: z.string(),
  number: z.int(),
  changes: z.array(z.tuple([z.string(), z.enum(topics), z.int()])),
});

/** Formats an announcement as payloads, with as many changes in each as fit. */
export function formatPayloads({ from, number, changes }: Announcement): string[] {
  const format = (parts: readonly string[]) =>
    `{"from":${JSON.stringify(from)},"number":${number},"changes":[${parts.join(',')}]}`;
  const maxBytes = MAX_PAYLOAD_BYTES - Buffer.byteLength(format([]));
  const payloads: string[][] = [[]];
  let size = 0;
  for (const { user, topic, revision } of changes) {
    const part = JSON.stringify([user, topic, revision]);
    const bytes = Buffer.byteLength(part) + 1;
    if (size + bytes > maxBytes) {
      payloads.push([]);
      size = 0;
    }
    payloads.at(-1)?.push(part);
    size += bytes;
  }
  return payloads.map(format);
}

/** Parses a payload; `undefined` if it was not written by {@link formatPayloads}. */
export function parsePayload(payload: string | undefined): Announcement | undefined {
  try {
    const { from, number, changes } = Payload.parse(JSON.parse(payload ?? ''));
    return { from, number, changes: changes.map(([user, topic, revision]) => ({ user, topic, revision })) };
  } catch {
    return undefined;
  }
}
