/** The media types of a result, the preferred one first (GraphQL over HTTP, section 4.2). */
export const resultTypes = ['application/json', 'application/graphql-response+json'] as const;

/**
 * Returns the media type for a result without errors, or `undefined` if the client accepts none. The first range in
 * `Accept` that matches a type decides, regardless of weights, because Yoga, which sends errors, negotiates in this
 * way.
 */
export function negotiateResultType(accept: string | undefined): (typeof resultTypes)[number] | undefined {
  // The most frequent values.
  if (accept === undefined || accept === '*/*') return 'application/json';
  for (const range of accept.toLowerCase().replaceAll(/\s/g, '').split(',')) {
    const [wanted = '', ...parameters] = range.split(';');
    const charset = parameters.find((parameter) => parameter.includes('charset='));
    if (charset !== undefined && charset !== 'charset=utf-8') continue;
    const found = resultTypes.find((type) => matchesRange(type, wanted));
    if (found !== undefined) return found;
  }
  return undefined;
}

function matchesRange(type: string, range: string): boolean {
  const [main, sub] = type.split('/');
  const [wantedMain, wantedSub] = range.split('/');
  return (wantedMain === '*' || wantedMain === main) && (wantedSub === '*' || wantedSub === sub);
}
