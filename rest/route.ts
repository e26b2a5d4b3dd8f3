import type { z } from 'zod';

/*
 * The REST API implements a given specification of the account and integrations service, here called the specification.
 * The repository has no copy of it; test/support/specification.ts is its executable form.
 */

/** A path of the REST API: a GraphQL root field, the sources of its arguments, and the shape of the reply. */
export type Route = {
  method: 'get' | 'put' | 'patch' | 'post' | 'delete';
  /** With parameters in braces: `/user/notifications/{id}/dismiss`. */
  path: string;
  /** The root field that the route runs: the name that its `*.graphql.ts` file exports. */
  field: string;
  /** The `operationId` of a route that is not the only one of its root field. Defaults to `field`. */
  operationId?: string;
  /** The section of the reference that describes it. */
  tag: Tag;
  /** The title of the operation. */
  summary: string;
  /** The description of the operation, in Markdown. */
  description: string;
  /** Whether the operation is an extension, which the specification does not define. */
  isExtension?: boolean;
  bind: Binding;
  /** The shape of the JSON body. Without it no body is read. */
  body?: z.ZodObject;
  /** For a list of which `limit`, `offset` and `after` select a part. */
  paged?: Paged;
  reply: {
    /** A 204 has no body. Defaults to 200. */
    status?: 200 | 204;
    /** The property of the body that contains the result: `notifications`. By default the body is the result. */
    name?: string;
    /** The subfield of the root field that is sent: `nodes`. By default the whole value of the root field is sent. */
    from?: string;
    shape: z.ZodType;
    description: string;
    /** If the root field is a union: the type that is sent, and the one that is a conflict (409). */
    union?: { type: string; conflict: Conflict };
  };
};

/** How a list is read. */
export type Paged = {
  /** Whether a cursor of the list can contain an ID. */
  isId: (id: string) => boolean;
  /** How many records are read at once: about a megabyte, at most. */
  pageSize: number;
};

/** A result that is a conflict: its type, the shape of what it says, the message, and the value of the error item. */
export type Conflict = {
  type: string;
  shape: z.ZodObject;
  message: string;
  toValue(content: unknown): unknown;
};

/** Returns the `operationId` of a route. */
export function getOperationId({ operationId, field }: Route): string {
  return operationId ?? field;
}

/** The sections of the reference. */
export type Tag = 'Notifications' | 'Notification preferences' | 'Editor auth' | 'Workspaces';

/** A repeatable enum, or a single string. */
export type QueryShape = z.ZodEnum | z.ZodString;

/** Where an argument comes from. */
export type ArgumentSource =
  | { from: 'path'; name: string; description: string }
  | { from: 'query'; name: string; shape: QueryShape; description: string; otherwise?: readonly string[] }
  | { from: 'body'; name: string };

/** The sources of the arguments, nested as the arguments are. */
export type Binding = { readonly [argument: string]: ArgumentSource | Binding };

/** A path parameter. */
export function path(name: string, description: string): ArgumentSource {
  return { from: 'path', name, description };
}

/** A query parameter. A parameter whose values are an enum can be repeated, and has the values `otherwise` if omitted. */
export function query(
  name: string,
  shape: QueryShape,
  description: string,
  otherwise?: readonly string[],
): ArgumentSource {
  return { from: 'query', name, shape, description, ...(otherwise && { otherwise }) };
}

/** A property of the body. */
export function body(name: string): ArgumentSource {
  return { from: 'body', name };
}

/** Lists the sources of a binding, including nested sources. */
export function listSources(binding: Binding): ArgumentSource[] {
  return Object.values(binding).flatMap((bound) => (isSource(bound) ? [bound] : listSources(bound)));
}

/** Only a source has a string as `from`: the binding of an argument named `from` is an object. */
export function isSource(bound: ArgumentSource | Binding): bound is ArgumentSource {
  return typeof bound.from === 'string';
}
