/**
 * Whether any object in a JSON text repeats a member. Parsers differ in which value they use, so issuer and gateway
 * could read different claims (RFC 7519, section 4).
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
