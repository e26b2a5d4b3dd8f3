import { print, separateOperations } from 'graphql';
import { expect } from 'vitest';
import type { ConflictReason, ErrorCode } from '../../src/errors/gateway-errors.ts';
import { type GraphQLReply, graphql, type RestReply, type RestRequest, rest } from './client.ts';
import type { Operations } from './generated/types.ts';
import { operations } from './operations.ts';
import { openStream, type SseReply, type SseStream, subscribe } from './sse.ts';
import { member } from './tokens.ts';

/** The text of each operation by the name of its method. */
const documents = Object.entries(separateOperations(operations)).map(
  ([name, document]) => [name.charAt(0).toLowerCase() + name.slice(1), print(document)] as const,
);

/** The value of the only field of an object; other values are returned as they are. */
type Only<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? IsOne<keyof Value> extends true
      ? Value[keyof Value]
      : Value
    : Value;
type IsOne<Key, All = Key> = Key extends unknown ? ([All] extends [Key] ? true : false) : never;

/** Fields of an input. Their values may be invalid, since tests of refusals need them. */
export type Given<Input> = { readonly [Field in keyof Input]?: unknown };

type Parameters<Variables> = Variables extends { input: infer Input }
  ? [input: Given<Input>]
  : Record<string, never> extends Variables
    ? [variables?: Variables]
    : [variables: Variables];

type Variables = Record<string, unknown>;

type Method<Data, Variables> = (
  ...parameters: Parameters<Variables>
) => Promise<NonNullable<Only<NonNullable<Only<Data>>>>>;

/**
 * A caller of a gateway. It has a method for every operation of `clients/typescript/operations.graphql` and of
 * `operations.graphql`, named after it. A method takes the operation's input, or its variables, and returns its root
 * field, or the only field of that. It throws a {@link Refusal} for errors.
 */
export type Caller = {
  [Name in keyof Operations as Uncapitalize<Name>]: Method<Operations[Name][0], Operations[Name][1]>;
} & {
  /** Sends a document, and returns the whole reply. */
  graphql(
    document: string,
    variables?: Variables,
    request?: { headers: Record<string, string> },
  ): Promise<GraphQLReply>;
  /** Sends a document, and returns its data. @throws {Refusal} for any error */
  run(document: string, variables?: Variables): Promise<GraphQLReply['data']>;
  /** Subscribes, and returns the whole reply. */
  subscribe(document: string, variables?: Variables, request?: { signal: AbortSignal }): Promise<SseReply>;
  /** Subscribes, and returns the stream. @throws {Error} if the subscription is rejected */
  follow(document: string, variables?: Variables): Promise<SseStream>;
  rest: Record<'get' | 'delete', (path: string, request?: RestRequest) => Promise<RestReply>> &
    Record<'post' | 'put' | 'patch', SendBody>;
};

type SendBody = (path: string, body?: unknown, request?: RestRequest) => Promise<RestReply>;

/** A user with the full account, or what returns the token of another caller, such as `platform`. */
export type Who = string | (() => Promise<string>);

/** The errors of a reply: the `extensions` of the first one. */
class Refusal extends Error {
  constructor(reply: GraphQLReply) {
    super(reply.text);
    Object.assign(this, reply.errors[0].extensions);
  }
}

/** Returns the function `as` of a gateway, which returns its callers. */
export function createAs(gateway: { readonly address: string }): (who: Who) => Caller {
  return (who) => {
    const token = () => (typeof who === 'string' ? member(who) : who());
    const send: Caller['graphql'] = async (document, variables, request) =>
      graphql(gateway, document, variables, { token: await token(), ...request });
    const run: Caller['run'] = async (document, variables) => {
      const reply = await send(document, variables);
      if (reply.errors.length > 0) throw new Refusal(reply);
      return reply.data;
    };
    const call = async (method: string, path: string, request?: RestRequest) =>
      rest(gateway, method, path, { token: await token(), ...request });
    const methods = documents.map(([name, text]) => [
      name,
      async (given: Variables = {}) =>
        only(only(await run(text, text.includes('($input:') ? { input: given } : given))),
    ]);
    return {
      ...Object.fromEntries(methods),
      graphql: send,
      run,
      subscribe: async (document, variables, request) =>
        subscribe(gateway, document, variables, { token: await token(), ...request }),
      follow: async (document, variables) =>
        openStream(gateway, document, variables, { token: await token() }),
      rest: {
        get: (path, request) => call('GET', path, request),
        delete: (path, request) => call('DELETE', path, request),
        post: (path, body, request) => call('POST', path, { body, ...request }),
        put: (path, body, request) => call('PUT', path, { body, ...request }),
        patch: (path, body, request) => call('PATCH', path, { body, ...request }),
      },
    };
  };
}

function only(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const fields = Object.values(value);
  return fields.length === 1 ? fields[0] : value;
}

/** Matches a {@link Refusal} with these error items: locations, or locations with messages. */
export function refused(code: ErrorCode, ...items: (string | [location: string, message: string])[]) {
  const errors = items.map((item) => {
    const [location, message] = typeof item === 'string' ? [item, expect.any(String)] : item;
    return { location, message };
  });
  return { code, ...(errors.length > 0 && { errors }) };
}

/** Matches a {@link Refusal} for a conflict. */
export const conflict = (reason: ConflictReason, ...items: string[]) => ({
  ...refused('CONFLICT', ...items),
  reason,
});
