/**
 * Whether an object in a JSON text names a member twice. Parsers differ in which of the two they take, so a token
 * could mean one thing to its issuer and another to us (RFC 7519, section 4).
 */
export function hasRepeatedMembers(json: string): boolean {
  const open: (Set<string> | null)[] = [];
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\]]/gs)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token.endsWith(':')) {
      const name: unknown = JSON.parse(token.slice(0, -1));
      const names = open.at(-1);
      if (typeof name !== 'string' || !names) continue;
      if (names.has(name)) return true;
      names.add(name);
    }
  }
  return false;
}
