import type { z } from 'zod';
import type { Binding } from './argument-sources.ts';

/*
 * The REST API implements a given specification of the account and integrations service, here called the specification.
 * The repository has no copy of it; test/support/specification.ts is its executable form.
 */

/** A path of the REST API: a GraphQL root field, the sources of its arguments, and the shape of the reply. */
export type Route = {
  method: 'get' | 'put' | 'post' | 'delete';
  /** With parameters in braces: `/user/notifications/{id}/dismiss`. */
  path: string;
  /** The root field that the route runs: the name that its `*.graphql.ts` file exports. */
  field: string;
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
  /** Whether `limit` and `offset` select a page of the list. */
  paged?: boolean;
  reply: {
    /** A 204 has no body. */
    status: 200 | 204;
    /**
     * The property of the JSON body that contains the result, such as `notifications`. Without it, the body is the
     * result.
     */
    name?: string;
    /**
     * The subfield of the root field that is sent, such as `nodes`. Without it, the root field's whole value is sent.
     */
    from?: string;
    shape: z.ZodType;
    description: string;
  };
};

/** The sections of the reference. */
export type Tag = 'Notifications' | 'Notification preferences' | 'Editor auth' | 'Workspaces';
