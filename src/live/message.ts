import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { type Change, topics } from './hub.ts';

/** The channel that gateways announce changes to each other on. */
export const CHANNEL = 'account_changes';

/** PostgreSQL refuses payloads of 8,000 bytes and more. */
const MAX_PAYLOAD_BYTES = 7900;

/** What one gateway tells all: who it is, how many such messages it sent before, and what it changed. */
const Message = z.object({
  from: z.string(),
  number: z.int(),
  changes: z.array(z.tuple([z.string(), z.enum(topics), z.int()])),
});
export type Message = { from: string; number: number; changes: Change[] };

/** The payloads of a message: several changes in each, as many as fit. */
export function writePayloads({ from, number, changes }: Message): string[] {
  const payload = (parts: readonly string[]) =>
    `{"from":${JSON.stringify(from)},"number":${number},"changes":[${parts.join(',')}]}`;
  const room = MAX_PAYLOAD_BYTES - Buffer.byteLength(payload([]));
  const payloads: string[][] = [[]];
  let size = 0;
  for (const { user, topic, revision } of changes) {
    const part = JSON.stringify([user, topic, revision]);
    const bytes = Buffer.byteLength(part) + 1;
    if (size + bytes > room) {
      payloads.push([]);
      size = 0;
    }
    payloads.at(-1)?.push(part);
    size += bytes;
  }
  return payloads.map(payload);
}

/** What a payload says; undefined for one that no gateway wrote. */
export function readPayload(payload: string | undefined): Message | undefined {
  try {
    const { from, number, changes } = Message.parse(JSON.parse(payload ?? ''));
    return { from, number, changes: changes.map(([user, topic, revision]) => ({ user, topic, revision })) };
  } catch {
    return undefined;
  }
}
