/** The media types of a result, the preferred one first (GraphQL over HTTP, section 4.2). */
export const resultTypes = ['application/json', 'application/graphql-response+json'] as const;

/** The media type of server-sent events. */
export const EVENT_STREAM = 'text/event-stream';
