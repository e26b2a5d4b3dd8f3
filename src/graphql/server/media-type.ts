/** The media types of a result (GraphQL over HTTP, section 4.2). A client that accepts both equally gets the first. */
const resultTypes = ['application/json', 'application/graphql-response+json'] as const;

/**
 * The media type of a result for a client: the first that it names, whatever its weight, because Yoga negotiates so for
 * all other replies. Undefined if the client accepts none.
 */
export function negotiateResultType(accept: string | undefined): (typeof resultTypes)[number] | undefined {
  // Almost every client sends one of these.
  if (accept === undefined || accept === '*/*') return 'application/json';
  for (const range of accept.toLowerCase().replaceAll(/\s/g, '').split(',')) {
    const [wanted = '', ...parameters] = range.split(';');
    const charset = parameters.find((parameter) => parameter.includes('charset='));
    if (charset !== undefined && charset !== 'charset=utf-8') continue;
    const found = resultTypes.find((type) => isWithin(type, wanted));
    if (found !== undefined) return found;
  }
  return undefined;
}

function isWithin(type: string, range: string): boolean {
  const [main, sub] = type.split('/');
  const [wantedMain, wantedSub] = range.split('/');
  return (wantedMain === '*' || wantedMain === main) && (wantedSub === '*' || wantedSub === sub);
}
