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

/** Whether an Accept header takes a media type; without one anything is taken (RFC 9110, section 12.5.1). */
export function accepts(header: string | undefined, type: string): boolean {
  if (header === undefined) return true;
  const weight = weights(header);
  const [main] = type.split('/', 1);
  return (weight.get(type) ?? weight.get(`${main}/*`) ?? weight.get('*/*') ?? 0) > 0;
}
