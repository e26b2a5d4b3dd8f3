import { checkAgainstOpenApi } from './openapi.ts';
import { checkAgainstSpecification } from './specification.ts';

/** A reply of the REST API that matches the specification and the OpenAPI document. */
export type RestReply = {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on JSON of any shape.
  body: any;
};

export type RestRequest = {
  token?: string;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged, instead of `body`. */
  raw?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
};

/** Calls a REST path and checks the reply against the specification's tables and the OpenAPI document. */
export async function rest(
  { address }: { address: string },
  method: string,
  path: string,
  { token, body, raw, headers }: RestRequest = {},
): Promise<RestReply> {
  const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(`${address}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(content !== undefined && { body: content }),
  });
  const text = await response.text();
  const reply = { status: response.status, headers: response.headers, text };
  checkAgainstSpecification({ method, path }, reply);
  checkAgainstOpenApi({ method, path }, reply);
  return { ...reply, body: text === '' ? undefined : JSON.parse(text) };
}

export type GraphQLReply = {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on data of any shape.
  data: any;
  // biome-ignore lint/suspicious/noExplicitAny: see `data`.
  errors: any[];
};

type GraphQLRequest = { token?: string; headers?: Record<string, string> };

/** Sends a GraphQL document by POST. */
export function graphql(
  gateway: { address: string },
  query: string,
  variables: Record<string, unknown> = {},
  request: GraphQLRequest = {},
): Promise<GraphQLReply> {
  return sendParameters(gateway, { query, variables }, request);
}

/** Sends parameters to the GraphQL endpoint by POST, valid or not. */
export async function sendParameters(
  { address }: { address: string },
  parameters: unknown,
  { token, headers }: GraphQLRequest,
): Promise<GraphQLReply> {
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/graphql-response+json',
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify(parameters),
  });
  const text = await response.text();
  const { data, errors } = JSON.parse(text);
  return { status: response.status, headers: response.headers, text, data, errors: errors ?? [] };
}
