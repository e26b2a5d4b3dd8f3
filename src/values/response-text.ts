/** Reads the body of a response; `undefined` if it is larger than `maxBytes`. Then the connection is closed. */
export async function readResponseText({ body }: Response, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
