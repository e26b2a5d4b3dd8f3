const SEEDS = [0x9e3779b9, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f];

/**
 * Returns a hash of 128 bits. It is not cryptographic, because `crypto.subtle` is missing in pages without HTTPS: it keeps
 * names short and tokens out of them.
 */
export function hash(text: string): string {
  return SEEDS.map((seed) => hashFrom(seed, text).toString(16).padStart(8, '0')).join('');
}

/** MurmurHash3 of UTF-16 code units, with the finalizer of 32 bits. */
function hashFrom(seed: number, text: string): number {
  let value = seed;
  for (let i = 0; i < text.length; i += 1) {
    value = Math.imul(value ^ text.charCodeAt(i), 0xcc9e2d51);
    value = (value << 15) | (value >>> 17);
    value = Math.imul(value, 5) + seed;
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
