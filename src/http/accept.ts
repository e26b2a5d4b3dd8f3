/** The weights that a header of the Accept family gives, by lower-case name (RFC 9110, section 12.4.2). */
export function weights(header = ''): Map<string, number> {
  const found = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    found.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  return found;
}
